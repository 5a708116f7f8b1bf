import { Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { PATTERN_EXTRAS_METADATA } from '@nestjs/microservices/constants';
import { connect, type Channel, type ChannelModel } from 'amqplib';
import { SystemClock } from '../../src/clock';
import {
  CommandHandlers,
  RABBIT_TRANSPORT,
  RabbitClient,
  type RabbitContext,
  RabbitServer,
  resolveRabbitOptions,
  type Verdict,
} from '../../src/rabbit';
import { isDatabaseUnavailable, isDatabaseWritable } from '../../src/database';
import { until } from '../support/engine';
import { createProxiedDatabase, type ProxiedDatabase } from '../support/proxied-database';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { stretched } from '../support/machine-load';

const PREFIX = 'order-timeout.v1';
const clock = new SystemClock();

class Handlers {
  @EventPattern<string>('books.row', RABBIT_TRANSPORT)
  row(): void {}

  @EventPattern<string>('fails', RABBIT_TRANSPORT)
  fails(): void {}
}

/** A command that was handled, and how often it was delivered before. */
interface Handled {
  readonly id: number;
  readonly deliveries: number;
}

describe('commands', () => {
  let database: ProxiedDatabase;
  let vhost: TestVhost;
  let direct: ChannelModel;
  let channel: Channel;
  let begun: number;
  let handled: Handled[];
  let running: { client: RabbitClient; server: RabbitServer }[];

  beforeAll(async () => {
    Logger.overrideLogger(false);
    [database, vhost] = await Promise.all([createProxiedDatabase(), createVhost()]);
    direct = await connect(vhost.url);
    channel = await direct.createChannel();
    await channel.prefetch(1);
  });

  beforeEach(() => {
    begun = 0;
    handled = [];
    running = [];
  });

  afterEach(async () => {
    database.accept();
    await Promise.all(running.map(stop));
    await channel.purgeQueue(`${PREFIX}.commands`);
  });

  afterAll(async () => {
    await direct.close();
    await database.drop();
    await vhost.drop();
  });

  const judge = (error: unknown): Verdict => ({ type: isDatabaseUnavailable(error) ? 'again' : 'redeliver' });

  /** One instance of a service whose commands need the database. */
  async function start(): Promise<RabbitClient> {
    const client = new RabbitClient(resolveRabbitOptions({ urls: [vhost.url] }), clock);
    const handlers = new CommandHandlers({ getControllers: () => [{ metatype: Handlers }] as never });
    const server = new RabbitServer({
      client,
      clock,
      handlers,
      concurrency: 4,
      prefetch: 20,
      judge,
      isReady: () => isDatabaseWritable(database.dataSource),
      keyOf: () => undefined,
    });
    const add = (name: 'row' | 'fails', pattern: string, handler: (body: never, context: RabbitContext) => unknown) =>
      server.addHandler(pattern, handler as never, true, extrasOf(name));
    add('row', 'books.row', async ({ id }: { id: number }, context) => {
      begun += 1;
      await database.dataSource.query('SELECT 1');
      handled.push({ id, deliveries: context.getArgs()[0].deliveries ?? 0 });
    });
    add('fails', 'fails', () => Promise.reject(new TypeError('x is undefined')));
    running.push({ client, server });
    server.listen(() => undefined);
    client.start();
    await until(() => client.isUp);
    return client;
  }

  async function stop({ client }: { client: RabbitClient }): Promise<void> {
    await client.stopConsuming();
    await client.drain(50);
    await client.close();
  }

  const send = (pattern: string, body: object): boolean =>
    channel.publish(`${PREFIX}.commands`, pattern, Buffer.from(JSON.stringify(body)), { persistent: true });

  it('survive an outage of the database with at most one delivery per instance', async () => {
    await Promise.all([start(), start()]);
    const ids = [...Array(30).keys()];
    database.refuse();
    for (const id of ids) send('books.row', { id });
    await clock.sleep(16_000);
    expect(handled).toEqual([]);
    database.accept();
    await until(() => handled.length >= ids.length);
    expect(handled.map(({ id }) => id).sort((a, b) => a - b)).toEqual(ids);
    // The broker itself puts back messages that it sent before the cancel arrived, once per instance.
    expect(Math.max(...handled.map(({ deliveries }) => deliveries))).toBeLessThanOrEqual(2);
  });

  it('are processed in parallel with one that fails, which leaves the broker up', async () => {
    const client = await start();
    send('fails', {});
    const lateMs: number[] = [];
    for (let id = 0; id < 20; id++) {
      const sentAt = performance.now();
      send('books.row', { id });
      await until(() => handled.length > id);
      lateMs.push(performance.now() - sentAt);
      expect(client.isUp).toBe(true);
      await clock.sleep(100);
    }
    expect(Math.max(...lateMs)).toBeLessThan(stretched(900));
  });

  it('are returned immediately if the service stops during an outage', async () => {
    const client = await start();
    database.refuse();
    send('books.row', { id: 1 });
    await until(() => begun === 1);
    const stoppedAt = performance.now();
    await client.stopConsuming();
    expect(await client.drain(5_000)).toBe(0);
    expect(performance.now() - stoppedAt).toBeLessThan(stretched(3_000));
    await until(async () => (await channel.checkQueue(`${PREFIX}.commands`)).messageCount === 1);
  });
});

function extrasOf(method: 'row' | 'fails'): Record<string, unknown> {
  const handler = Reflect.get(Handlers.prototype, method) as object;
  return Reflect.getMetadata(PATTERN_EXTRAS_METADATA, handler) as Record<string, unknown>;
}
