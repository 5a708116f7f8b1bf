import fc from 'fast-check';
import { Ladder, type LadderOptions } from '../../../src/delay';
import { InvalidDelayError } from '../../../src/delay/delay-transport';
import { InvalidOptionsError } from '../../../src/errors';
import { TopologyNames } from '../../../src/rabbit';
import { type Arrival, TopicBroker } from './topic-broker';

const names = new TopologyNames('order-timeout.v1');
// Each one is the end of another, and two begin with a possible digit.
const kinds = ['payment', 'order.payment', 'shop.order.payment', '0', '5.payment', 'order'];

const shapes = fc
  .record({
    base: fc.integer({ min: 2, max: 100 }),
    unitMs: fc.integer({ min: 1, max: 5_000 }),
    units: fc.integer({ min: 1, max: 200_000 }),
  })
  .map(({ base, unitMs, units }) => ({ base, unitMs, horizonMs: units * unitMs }));

async function build(...options: LadderOptions[]): Promise<{ broker: TopicBroker; ladders: Ladder[] }> {
  const broker = new TopicBroker();
  const ladders = options.map((each) => new Ladder(names, each));
  for (const ladder of ladders) {
    await ladder.declare(broker.channel);
    for (const kind of kinds) {
      await broker.channel.assertQueue(names.workQueue(kind));
      await ladder.bindKind(broker.channel, kind, names.workQueue(kind));
    }
  }
  return { broker, ladders };
}

function arrivals(broker: TopicBroker, ladder: Ladder | undefined, kind: string, delayMs: number): Arrival[] {
  const route = ladder?.route(kind, delayMs);
  if (!route) throw new Error('no ladder');
  if (route.exchange !== names.work) return broker.publish(route);
  return [{ queue: names.workQueue(route.routingKey), waitedMs: 0, hops: 0 }];
}

describe('Ladder', () => {
  it('delivers every delay to exactly its own work queue, less than a unit early, in at most one hop per level', async () => {
    await fc.assert(
      fc.asyncProperty(
        shapes,
        fc.constantFrom(...kinds),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (options, kind, part) => {
          const { broker, ladders } = await build(options);
          const [ladder] = ladders;
          const delayMs = part * options.horizonMs;
          const found = arrivals(broker, ladder, kind, delayMs);
          expect(found).toHaveLength(1);
          const [{ queue, waitedMs, hops } = { queue: '', waitedMs: NaN, hops: NaN }] = found;
          expect(queue).toBe(names.workQueue(kind));
          expect(waitedMs).toBeLessThanOrEqual(delayMs);
          expect(delayMs - waitedMs).toBeLessThan(options.unitMs);
          expect(hops).toBeLessThanOrEqual(
            Math.ceil(Math.log(options.horizonMs / options.unitMs + 1) / Math.log(options.base)),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it('loses no message while a node is down: a full queue refuses it, and it leaves only once it has arrived', async () => {
    const declared = new Map<string, unknown>();
    const { channel } = new TopicBroker();
    const assertQueue = channel.assertQueue.bind(channel);
    const recording = Object.assign(channel, {
      assertQueue: (name: string, options: { arguments?: unknown }) => {
        declared.set(name, options.arguments);
        return assertQueue(name, options);
      },
    });
    const ladder = new Ladder(names, { queueType: 'quorum' });
    await ladder.declare(recording);
    const safe = {
      'x-queue-type': 'quorum',
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    };
    expect([...declared.keys()].sort()).toEqual(ladder.queues.map(({ name }) => name).sort());
    for (const options of declared.values()) expect(options).toEqual(safe);
    for (const queue of ladder.queues) expect(queue.arguments).toMatchObject(safe);
    for (const queue of new Ladder(names, { queueType: 'classic' }).queues) {
      expect(queue.arguments).toMatchObject({ 'x-queue-type': 'classic' });
      expect(queue.arguments).not.toHaveProperty('x-overflow');
    }
  });

  it('waits for exactly its maximum if the delay is above its horizon', async () => {
    await fc.assert(
      fc.asyncProperty(shapes, fc.double({ min: 1, max: 1e6, noNaN: true }), async (options, factor) => {
        const { broker, ladders } = await build(options);
        const [ladder] = ladders;
        const delayMs = options.horizonMs * factor;
        const [{ waitedMs } = { waitedMs: NaN }] = arrivals(broker, ladder, 'payment', delayMs);
        expect(waitedMs).toBe(Math.min(Math.floor(delayMs / options.unitMs) * options.unitMs, ladder?.maxDelayMs ?? 0));
        expect(ladder?.maxDelayMs).toBeGreaterThan(options.horizonMs - options.unitMs);
      }),
      { numRuns: 40 },
    );
  });

  it('shares its queues with ladders of another horizon without delivering a message twice', async () => {
    const { broker, ladders } = await build({ horizonMs: 60_000 }, { horizonMs: 86_400_000 }, { horizonMs: 3_600_000 });
    for (const ladder of ladders) {
      for (const delayMs of [1_000, 59_000, 3_599_000]) {
        const expected = Math.min(delayMs, ladder.maxDelayMs);
        const hops = expect.any(Number) as number;
        expect(arrivals(broker, ladder, 'order.payment', delayMs)).toEqual([
          { queue: names.workQueue('order.payment'), waitedMs: expected, hops },
        ]);
      }
    }
  });

  it('separates ladders of other dimensions by their names', async () => {
    const { broker } = await build({}, { base: 4 }, { unitMs: 100 }, { base: 4, unitMs: 100 });
    const firstRungs = [...broker.queues].filter(([name]) => name.endsWith('.0.01'));
    expect(firstRungs.map(([name, { ttlMs }]) => [name, ttlMs])).toEqual([
      ['order-timeout.v1.delay.0.01', 1_000],
      ['order-timeout.v1.delay-b4-u1000.0.01', 1_000],
      ['order-timeout.v1.delay-b64-u100.0.01', 100],
      ['order-timeout.v1.delay-b4-u100.0.01', 100],
    ]);
  });

  it('declares only the queues that its horizon needs', async () => {
    const countQueues = async (options: LadderOptions): Promise<number> =>
      (await build(options)).broker.queues.size - kinds.length;
    expect(await countQueues({})).toBe(63 + 63 + 21);
    expect(await countQueues({ horizonMs: 30_000 })).toBe(30);
    expect(await countQueues({ base: 2, horizonMs: 1_023_000 })).toBe(10);
  });

  it('publishes at the first digit that is not zero', () => {
    const ladder = new Ladder(names);
    expect(ladder.route('order.payment', 1_800_000)).toEqual({
      exchange: 'order-timeout.v1.delay.1',
      routingKey: '0.0.0.28.8.order.payment',
      mandatory: true,
    });
    expect(ladder.route('order.payment', 5_999.9).exchange).toBe('order-timeout.v1.delay.0');
    expect(ladder.route('order.payment', 64_000).routingKey).toBe('0.0.0.1.0.order.payment');
  });

  it.each([0, -1, -1e15, 999.9])('routes a delay of %p ms straight to the work queue', (delayMs) => {
    const route = { exchange: 'order-timeout.v1.work', routingKey: 'order.payment', mandatory: true };
    expect(new Ladder(names).route('order.payment', delayMs)).toEqual(route);
  });

  it.each([NaN, Infinity, -Infinity])('rejects %p as a delay', (delayMs) => {
    expect(() => new Ladder(names).route('order.payment', delayMs)).toThrow(InvalidDelayError);
  });

  it('names every invalid dimension at once', () => {
    const build = (): Ladder => new Ladder(names, { base: 1, unitMs: 0.5, horizonMs: NaN });
    expect(build).toThrow(InvalidOptionsError);
    expect(build).toThrow(/3 problems: base .*unitMs .*horizonMs /);
  });

  it('keeps its keys within the 255 bytes of AMQP in the worst case', () => {
    const ladder = new Ladder(names, { base: 2, unitMs: 1, horizonMs: 315_360_000_000 });
    expect(ladder.route('k'.repeat(100), ladder.maxDelayMs).routingKey.length).toBeLessThan(256);
  });
});
