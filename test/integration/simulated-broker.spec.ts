import {
  connect,
  type Channel,
  type ConfirmChannel,
  type ConsumeMessage,
  type GetMessage,
  type Options,
} from 'amqplib';
import { DelayedExchange, Ladder } from '../../src/delay';
import { type ChannelModel } from '../../src/rabbit';
import { Random } from '../model/random';
import { type BrokerKernel, SimulatedBroker } from '../simulation/simulated-broker';
import { createVhost } from '../support/rabbit-vhost';
import { until } from '../support/until';
import { describeDelayTransport, type EmptyBroker } from './delay/conformance';

const small = { base: 4, unitMs: 20, horizonMs: 1_000 };

for (const queueType of ['quorum', 'classic'] as const) {
  describeDelayTransport({
    title: `Ladder of ${queueType} queues on the simulated broker`,
    profile: 'plain',
    queueType,
    horizonMs: 1_260,
    unroutable: 'parked',
    transportOf: (names) => new Ladder(names, { ...small, queueType }),
    openBroker: openSimulated,
  });
}

describeDelayTransport({
  title: 'DelayedExchange on the simulated broker',
  profile: 'plugin',
  horizonMs: 1_260,
  unroutable: 'dropped',
  transportOf: (names) => new DelayedExchange(names),
  openBroker: openSimulated,
});

const BROKERS: readonly (readonly [string, () => Promise<EmptyBroker>])[] = [
  ['RabbitMQ', openVhost],
  ['the simulated broker', openSimulated],
];

describe.each(BROKERS)('%s', (_title, open) => {
  let broker: EmptyBroker;
  let model: ChannelModel;
  let channel: ConfirmChannel;
  const received: ConsumeMessage[] = [];
  const closed: string[] = [];

  beforeAll(async () => {
    broker = await open();
  });
  beforeEach(async () => {
    received.length = closed.length = 0;
    model = await dial();
    channel = await openChannel();
  });
  afterEach(() => model.close().catch(() => undefined));
  afterAll(() => broker.drop());

  async function dial(): Promise<ChannelModel> {
    const { address } = broker;
    const one = await (typeof address === 'string' ? connect(address) : address());
    one.on('error', () => undefined);
    return one;
  }

  async function openChannel(): Promise<ConfirmChannel> {
    const one = await model.createConfirmChannel();
    one.on('error', ({ code, message }: Error & { code?: number }) => closed.push(`${code} ${sentenceIn(message)}`));
    return one;
  }

  /** Resolves once the broker has confirmed it. */
  const publish = (exchange: string, key: string, text: string, options: Options.Publish = {}): Promise<void> =>
    new Promise((resolve, reject) =>
      channel.publish(exchange, key, Buffer.from(text), options, (error?: Error | null) =>
        error ? reject(error) : resolve(),
      ),
    );

  /** A queue of its own for each test. */
  async function queueOf(name: string, args: Record<string, unknown> = {}, type = 'quorum'): Promise<string> {
    await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': type, ...args } });
    return name;
  }

  async function consume(queue: string, on: Channel = channel): Promise<void> {
    await on.consume(queue, (message) => message && received.push(message));
  }

  const texts = (): string[] => received.map(({ content }) => content.toString());

  const arrive = (count: number): Promise<unknown> => until(() => received.length >= count);

  async function get(queue: string): Promise<GetMessage | false> {
    let message: GetMessage | false = false;
    await until(async () => {
      message = await channel.get(queue);
      return message !== false;
    });
    return message;
  }

  it('closes the channel of whoever publishes to an exchange that is not there', async () => {
    await expect(publish('nowhere', 'key', 'lost')).rejects.toThrow();
    await until(() => closed.length > 0);
    expect(closed).toEqual(["404 NOT_FOUND - no exchange 'nowhere'"]);
  });

  it('refuses to declare an exchange as something else', async () => {
    await channel.assertExchange('kept', 'direct');
    await expect(channel.assertExchange('kept', 'topic')).rejects.toThrow();
    await until(() => closed.length > 0);
    expect(closed).toEqual(["406 PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'kept'"]);
  });

  it('refuses to declare a queue with another argument', async () => {
    await queueOf('timed', { 'x-message-ttl': 1_000 });
    await expect(queueOf('timed', { 'x-message-ttl': 2_000 })).rejects.toThrow();
    await until(() => closed.length > 0);
    expect(closed).toEqual(["406 PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue 'timed'"]);
  });

  it('refuses to consume from a queue that is not there', async () => {
    await expect(consume('no-queue')).rejects.toThrow();
    await until(() => closed.length > 0);
    expect(closed).toEqual(["404 NOT_FOUND - no queue 'no-queue'"]);
  });

  it('returns what finds no queue, before it confirms it', async () => {
    const returned: string[] = [];
    channel.on('return', ({ content }: { content: Buffer }) => returned.push(content.toString()));
    await publish('', 'no-queue', 'mandatory', { mandatory: true });
    await publish('', 'no-queue', 'dropped');
    expect(returned).toEqual(['mandatory']);
  });

  it('hands what has no binding to the alternate exchange', async () => {
    await channel.assertExchange('rest', 'fanout');
    await channel.assertExchange('main', 'direct', { alternateExchange: 'rest' });
    await channel.bindQueue(await queueOf('rest-queue'), 'rest', '');
    await publish('main', 'unbound', 'left over');
    await consume('rest-queue');
    await arrive(1);
    expect(received[0]?.fields).toMatchObject({ exchange: 'main', routingKey: 'unbound' });
  });

  it('routes by the words of a topic', async () => {
    await channel.assertExchange('topics', 'topic');
    await channel.bindQueue(await queueOf('one-word'), 'topics', 'a.*');
    await channel.bindQueue(await queueOf('any-words'), 'topics', 'a.#');
    for (const key of ['a', 'a.b', 'a.b.c', 'b.a']) await publish('topics', key, key);
    await consume('one-word');
    await arrive(1);
    await consume('any-words');
    await arrive(4);
    expect(texts().slice(0, 1)).toEqual(['a.b']);
    expect(texts().slice(1).sort()).toEqual(['a', 'a.b', 'a.b.c']);
  });

  it('delivers one copy of a message to a queue with several bindings', async () => {
    await channel.assertExchange('twice', 'topic');
    await queueOf('bound-twice');
    for (const key of ['x.#', '#.y']) await channel.bindQueue('bound-twice', 'twice', key);
    await publish('twice', 'x.y', 'once');
    await publish('twice', 'x.z', 'last');
    await consume('bound-twice');
    await arrive(2);
    expect(texts().sort()).toEqual(['last', 'once']);
  });

  it.each(['quorum', 'classic'])('delivers again from a %s queue what was requeued, and says so', async (type) => {
    const queue = await queueOf(`again-${type}`, {}, type);
    await publish('', queue, 'again');
    await consume(queue);
    await arrive(1);
    if (received[0]) channel.nack(received[0], false, true);
    await arrive(2);
    expect(received.map(({ fields }) => fields.redelivered)).toEqual([false, true]);
    expect(received[1]?.properties.headers?.['x-delivery-count']).toBe(type === 'quorum' ? 1 : undefined);
  });

  it('delivers again what was not acknowledged on a channel that is closed', async () => {
    const queue = await queueOf('unacknowledged');
    await publish('', queue, 'kept');
    await consume(queue);
    await arrive(1);
    await channel.close();
    channel = await openChannel();
    await consume(queue);
    await arrive(2);
    expect(received[1]?.fields.redelivered).toBe(true);
  });

  it('delivers again what was not acknowledged on a connection that is cut', async () => {
    const queue = await queueOf('cut');
    const other = await dial();
    const theirs = await other.createChannel();
    theirs.on('error', () => undefined);
    await publish('', queue, 'kept');
    await consume(queue, theirs);
    await arrive(1);
    await other.close();
    await consume(queue);
    await arrive(2);
    expect(texts()).toEqual(['kept', 'kept']);
  });

  it('dead-letters from a quorum queue what was delivered more often than its limit', async () => {
    await channel.assertExchange('dead', 'fanout');
    await channel.bindQueue(await queueOf('dead-queue'), 'dead', '');
    const limits = { 'x-delivery-limit': 1, 'x-dead-letter-exchange': 'dead' };
    const queue = await queueOf('limited', limits);
    await publish('', queue, 'bad');
    await consume(queue);
    for (const turn of [1, 2]) {
      await arrive(turn);
      const last = received[turn - 1];
      if (last) channel.nack(last, false, true);
    }
    const dead = await get('dead-queue');
    expect(dead && dead.content.toString()).toBe('bad');
    expect(received).toHaveLength(2);
  });

  it('dead-letters what is rejected, with its own routing key or that of the queue', async () => {
    await channel.assertExchange('rejected', 'topic');
    await channel.bindQueue(await queueOf('rejects'), 'rejected', '#');
    await queueOf('own-key', { 'x-dead-letter-exchange': 'rejected' });
    await queueOf('other-key', { 'x-dead-letter-exchange': 'rejected', 'x-dead-letter-routing-key': 'other' });
    for (const queue of ['own-key', 'other-key']) {
      await publish('', queue, queue);
      const message = await get(queue);
      if (message) channel.nack(message, false, false);
    }
    await consume('rejects');
    await arrive(2);
    expect(received.map(({ fields }) => fields.routingKey).sort()).toEqual(['other', 'own-key']);
  });

  it('dead-letters what has waited for the time of its queue, and not before', async () => {
    await channel.assertExchange('expired', 'fanout');
    await channel.bindQueue(await queueOf('expirations'), 'expired', '');
    await queueOf('waiting', { 'x-message-ttl': 300, 'x-dead-letter-exchange': 'expired' });
    await consume('expirations');
    const began = performance.now();
    await publish('', 'waiting', 'waited');
    await arrive(1);
    expect(performance.now() - began).toBeGreaterThanOrEqual(299);
    expect(texts()).toEqual(['waited']);
  });

  it('gives a consumer no more than its prefetch until it acknowledges', async () => {
    const queue = await queueOf('many');
    for (const text of ['1', '2', '3']) await publish('', queue, text);
    await channel.prefetch(2);
    await consume(queue);
    await arrive(2);
    // Asked after whatever would have been delivered.
    await channel.checkQueue(queue);
    expect(received).toHaveLength(2);
    const [, second] = received;
    if (second) channel.ack(second, true);
    await arrive(3);
    expect(texts().sort()).toEqual(['1', '2', '3']);
  });

  it('closes the channel of whoever acknowledges a message twice', async () => {
    const queue = await queueOf('double');
    await publish('', queue, 'once');
    const message = await get(queue);
    if (!message) throw new Error('no message');
    channel.ack(message);
    channel.ack(message);
    await until(() => closed.length > 0);
    expect(closed).toEqual(['406 PRECONDITION_FAILED - unknown delivery tag 1']);
  });

  it('counts what is ready in a queue, and who consumes from it', async () => {
    const queue = await queueOf('counted', {}, 'classic');
    await publish('', queue, 'ready');
    expect(await channel.checkQueue(queue)).toMatchObject({ messageCount: 1, consumerCount: 0 });
    await consume(queue);
    await arrive(1);
    expect(await channel.checkQueue(queue)).toMatchObject({ messageCount: 0, consumerCount: 1 });
  });
});

/** What the broker says, without the virtual host. */
function sentenceIn(message: string): string {
  return /[A-Z_]+ - .+?(?= in vhost|"|\)|$)/.exec(message)?.[0] ?? message;
}

async function openVhost(): Promise<EmptyBroker> {
  const vhost = await createVhost();
  return { address: vhost.url, drop: () => vhost.drop() };
}

/** That of the worlds, in real time. */
async function openSimulated(): Promise<EmptyBroker> {
  const broker = new SimulatedBroker(realTime(), true);
  const address = (): Promise<ChannelModel> => broker.connect('client') as unknown as Promise<ChannelModel>;
  return { address, drop: () => Promise.resolve() };
}

/** What can happen happens at once, in any order. */
function realTime(): BrokerKernel {
  const random = new Random(Date.now());
  const waiting: (() => unknown)[] = [];
  const step = (_label: string, run: () => unknown): void => {
    waiting.push(run);
    setImmediate(() => {
      const [next] = waiting.splice(random.between(0, waiting.length - 1), 1);
      next?.();
    });
  };
  return {
    ...{ random, step, say: () => undefined, turn: (label) => new Promise((resolve) => step(label, () => resolve())) },
    time: {
      get now() {
        return Date.now();
      },
      after: (ms, run) => {
        setTimeout(run, ms);
        return 0;
      },
    },
  };
}
