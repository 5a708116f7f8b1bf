import { type Channel, type ChannelModel, connect } from 'amqplib';
import { brokerDefinitions } from '../../packages/contract/src/broker-definitions';
import { anOrder, environmentOf, PREFIX } from '../e2e/running-service';
import { loadConfig } from '../../src/service/config';
import { createService, startService } from '../../src/service/create-service';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

type Role = 'service' | 'sender' | 'listener';
const ROLES: readonly Role[] = ['service', 'sender', 'listener'];

/** One thing to do on a channel; the broker answers, or closes the channel. */
type Deed = (channel: Channel) => Promise<unknown>;

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('the users of the shipped broker definitions', () => {
  let vhost: TestVhost;
  let database: TestDatabase;
  let stop: () => Promise<void>;
  let send: (path: string, body: object) => Promise<number>;
  const nameOf = (role: Role): string => `${role}-${vhost.name}`;
  const connections = new Map<Role, ChannelModel>();

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    for (const role of ROLES) {
      const { configure, write, read } = brokerDefinitions().permissions.find(({ user }) => user === role) ?? {};
      await vhost.manage('PUT', `/users/${nameOf(role)}`, { password: role, tags: '' });
      await vhost.manage('PUT', `/permissions/${vhost.name}/${nameOf(role)}`, { configure, write, read });
    }
    // The service itself, with nothing but its own user, on both kinds of queues that it declares.
    const app = await createService(loadConfig(environmentOf(database.url, urlFor('service'))));
    await startService(app, { port: 0, host: '127.0.0.1', apiKeys: [], operatorKeys: [] });
    const base = await app.getUrl();
    send = async (path, body) => {
      const headers = { 'content-type': 'application/json', 'x-api-key': 'key-of-everything', connection: 'close' };
      return (await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    };
    stop = () => app.close();
    await until(async () => (await (await fetch(`${base}/health/ready`, { headers: { connection: 'close' } })).text()).includes('"ready"')); // prettier-ignore
    await somebodyElses();
    for (const role of ROLES) connections.set(role, await connect(urlFor(role)));
  });

  afterAll(async () => {
    for (const connection of connections.values()) await connection.close();
    await stop();
    for (const role of ROLES) await vhost.manage('DELETE', `/users/${nameOf(role)}`);
    await database.drop();
    await vhost.drop();
  });

  function urlFor(role: Role): string {
    const url = new URL(vhost.url);
    url.username = nameOf(role);
    url.password = role;
    return url.href;
  }

  /** Queues and exchanges of others on the same vhost. */
  async function somebodyElses(): Promise<void> {
    const connection = await connect(vhost.url);
    const channel = await connection.createChannel();
    await channel.assertQueue('billing.invoices', { durable: true });
    await channel.assertQueue('order-timeout-v1x', { durable: true });
    await channel.assertExchange('billing', 'topic', { durable: true });
    await connection.close();
  }

  /** `done`, or the broker's code: 403 is "access refused". */
  async function attempt(role: Role, deed: Deed): Promise<number | 'done'> {
    const channel = await connections.get(role)?.createConfirmChannel();
    if (!channel) throw new Error('no connection');
    const closed = new Promise<number>((resolve) => channel.on('error', ({ code }: { code: number }) => resolve(code)));
    try {
      return await Promise.race([deed(channel).then(() => 'done' as const), closed]);
    } catch {
      return await closed;
    } finally {
      await channel.close().catch(() => undefined);
    }
  }

  const publish =
    (exchange: string, key: string): Deed =>
    (channel) => {
      channel.publish(exchange, key, Buffer.from('{}'));
      return (channel as Channel & { waitForConfirms(): Promise<void> }).waitForConfirms();
    };
  const consume =
    (queue: string): Deed =>
    (channel) =>
      channel.consume(queue, () => undefined);
  const get =
    (queue: string): Deed =>
    (channel) =>
      channel.get(queue);
  const declareQueue =
    (name: string): Deed =>
    (channel) =>
      channel.assertQueue(name, { durable: true });
  const declareExchange =
    (name: string): Deed =>
    (channel) =>
      channel.assertExchange(name, 'topic');
  const remove =
    (queue: string): Deed =>
    (channel) =>
      channel.deleteQueue(queue);
  const purge =
    (queue: string): Deed =>
    (channel) =>
      channel.purgeQueue(queue);
  const bind =
    (queue: string, exchange: string): Deed =>
    async (channel) =>
      channel.bindQueue(queue, exchange, '#');

  const WORK = `${PREFIX}.work.order.payment`;
  const COMMANDS = `${PREFIX}.commands`;
  const EVENTS = `${PREFIX}.events`;
  const PARKED = `${PREFIX}.parked`;

  describe('service', () => {
    it('runs the service: it is ready, places an order and hands its events on', async () => {
      expect(await send('/orders', anOrder({ lines: [] }))).toBe(201);
    });

    it.each<[string, Deed]>([
      ['declare a queue of others', declareQueue('billing.other')],
      ['declare a name that only looks like ours', declareQueue('order-timeout-v1.x')],
      ['declare an exchange of others', declareExchange('billing.more')],
      ['read a queue of others', consume('billing.invoices')],
      ['read a queue whose name only looks like ours', get('order-timeout-v1x')],
      ['delete a queue of others', remove('billing.invoices')],
      ['empty a queue of others', purge('billing.invoices')],
      ['publish to an exchange of others', publish('billing', 'x')],
      ['bind a queue of its own to an exchange of others', bind(PARKED, 'billing')],
      ['bind a queue of others to its events', bind('billing.invoices', EVENTS)],
    ])('cannot %s', async (_, deed) => {
      expect(await attempt('service', deed)).toBe(403);
    });
  });

  describe('sender', () => {
    it('can ask, and gets the answer, without a queue of its own', async () => {
      const channel = await connections.get('sender')?.createChannel();
      const answers: string[] = [];
      await channel?.consume('amq.rabbitmq.reply-to', (message) => answers.push(String(message?.content)), {
        noAck: true,
      });
      const request = Buffer.from(JSON.stringify({ sku: 'ghost' }));
      channel?.publish(COMMANDS, 'stock.read', request, { replyTo: 'amq.rabbitmq.reply-to' });
      await until(() => answers.length === 1);
      expect(answers[0]).toContain('SKU_NOT_FOUND');
      await channel?.close();
    });

    it.each([WORK, PARKED, COMMANDS])('cannot have an answer put into %s', async (replyTo) => {
      const listening = await connect(vhost.url);
      const channel = await listening.createChannel();
      const deed: Deed = async (own) => own.publish(COMMANDS, 'stock.read', Buffer.from('{"sku":"x"}'), { replyTo });
      expect(await attempt('sender', deed)).toBe('done');
      // The question above, about a ghost, is parked, too, if whoever asked was gone when it was refused.
      const parked: unknown[] = [];
      await until(async () => {
        const message = await channel.get(PARKED, { noAck: true });
        if (message && !String(message.content).includes('ghost'))
          parked.push(message.properties.headers?.['x-ot-error-code']);
        return parked.length > 0;
      });
      expect(parked).toEqual(['INVALID_REPLY_TO']);
      await listening.close();
    });

    it('can send commands, and they are carried out', async () => {
      const { id } = anOrder();
      const order = JSON.stringify(anOrder({ id, lines: [] }));
      const deed: Deed = async (channel) => channel.publish(COMMANDS, 'order.placed', Buffer.from(order));
      expect(await attempt('sender', deed)).toBe('done');
      const count = 'SELECT 1 FROM order_timeout.orders WHERE id = $1';
      await until(async () => (await database.dataSource.query<unknown[]>(count, [id])).length === 1);
    });

    it.each<[string, Deed]>([
      ['publish a wake-up', publish(`${PREFIX}.work`, 'order.payment')],
      ['publish a wake-up by the default exchange', publish('', WORK)],
      ['publish an event', publish(EVENTS, 'order.paid')],
      ['publish to the parked queue', publish(PARKED, 'x')],
      ['publish to the ladder', publish(`${PREFIX}.delay`, 'x')],
      ['read commands', consume(COMMANDS)],
      ['read wake-ups', get(WORK)],
      ['read what is parked', get(PARKED)],
      ['listen to events', bind(COMMANDS, EVENTS)],
      ['declare a queue', declareQueue('sender.mine')],
      ['declare a queue without a name', declareQueue('')],
      ['declare an exchange', declareExchange('sender.mine')],
      ['delete the command queue', remove(COMMANDS)],
      ['empty the command queue', purge(COMMANDS)],
    ])('cannot %s', async (_, deed) => {
      expect(await attempt('sender', deed)).toBe(403);
    });
  });

  describe('listener', () => {
    it('can bind a queue of its own to the events, and gets them', async () => {
      const events: unknown[] = [];
      const channel = await connections.get('listener')?.createChannel();
      await channel?.assertQueue('listener.mailer', { durable: true });
      await channel?.bindQueue('listener.mailer', EVENTS, 'order.#');
      await channel?.consume('listener.mailer', (message) => events.push(message), { noAck: true });
      const order = anOrder({ lines: [] });
      expect(await send('/orders', order)).toBe(201);
      expect(await send(`/orders/${order.id}/cancel`, {})).toBe(200);
      await until(() => events.length > 0);
      await channel?.close();
    });

    it.each<[string, Deed]>([
      ['send commands', publish(COMMANDS, 'order.cancelled')],
      ['publish events', publish(EVENTS, 'order.paid')],
      ['publish a wake-up', publish(`${PREFIX}.work`, 'order.payment')],
      ['publish a wake-up by the default exchange', publish('', WORK)],
      ['read commands', consume(COMMANDS)],
      ['read wake-ups', get(WORK)],
      ['read what is parked', consume(PARKED)],
      ['bind its queue to the commands', bind('listener.mailer', COMMANDS)],
      ['bind its queue to what is parked', bind('listener.mailer', PARKED)],
      ['declare one of our queues', declareQueue(`${PREFIX}.mine`)],
      ['declare a queue of others', declareQueue('billing.mine')],
      ['delete the command queue', remove(COMMANDS)],
      ['empty the parked queue', purge(PARKED)],
    ])('cannot %s', async (_, deed) => {
      expect(await attempt('listener', deed)).toBe(403);
    });
  });

  it('none of them is an administrator, and none has a password in the repository', () => {
    const { users } = brokerDefinitions();
    for (const { name, tags, password } of users) {
      expect(password).toMatch(/^\$\{[A-Z_]+\}$/);
      if ((ROLES as readonly string[]).includes(name)) expect(tags).toEqual([]);
    }
    expect(users).toHaveLength(ROLES.length + 1);
  });
});
