import fc from 'fast-check';
import { bisectFailures as bisect, type BatchWork } from '../../../src/timeouts/engine/batches';
import { HandlerFailure, HandlerTimeoutError } from '../../../src/timeouts/model/errors';

/** One object that both settles the items and knows the database. */
type Plan = BatchWork<number> & { isolate(items: readonly number[]): void; isDatabaseAvailable(): Promise<boolean> };

const bisectFailures = (items: readonly number[], plan: Plan): Promise<void> => bisect(items, plan, plan);

const databaseAway = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** For tests in which nobody waits for anybody. */
const nobodyWaits = {
  postpone: async (item: number) => {
    throw new Error(`item ${item} was held`);
  },
  isolate: (items: readonly number[]) => {
    throw new Error(`items ${items.join(', ')} were set apart`);
  },
};

/** Runs a batch in which `bad` items spoil every transaction they are part of. */
async function settleBatch(items: readonly number[], bad: ReadonlySet<number>, isAway: (call: number) => boolean) {
  const seen = { settled: [] as number[], failed: [] as number[], unwritten: [] as number[], calls: 0, wrongErrors: 0 };
  await bisectFailures(items, {
    ...nobodyWaits,
    isDatabaseAvailable: async () => false,
    settleBatch: async (part) => {
      if (isAway(++seen.calls)) throw databaseAway();
      const offender = part.find((item) => bad.has(item));
      if (offender !== undefined) throw new Error(`item ${offender}`);
      seen.settled.push(...part);
    },
    recordFailure: async (item, error) => {
      if ((error as Error).message !== `item ${item}`) seen.wrongErrors++;
      seen.failed.push(item);
    },
    onUnavailable: (part) => void seen.unwritten.push(...part),
  });
  return seen;
}

const batches = fc
  .integer({ min: 0, max: 120 })
  .chain((size) => fc.tuple(fc.constant(size), fc.uniqueArray(fc.nat(Math.max(size - 1, 0)), { maxLength: size })));
const itemsOf = (size: number): number[] => Array.from({ length: size }, (_, item) => item);
const never = () => false;

describe('bisectFailures', () => {
  it('fails exactly the bad items, each once and alone, and settles every other one once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async ([size, bad]) => {
        const items = itemsOf(size);
        const offenders = new Set(bad.filter((item) => item < size));
        const seen = await settleBatch(items, offenders, never);
        expect(seen.failed).toEqual(items.filter((item) => offenders.has(item)));
        expect(seen.settled).toEqual(items.filter((item) => !offenders.has(item)));
        expect(seen).toMatchObject({ unwritten: [], wrongErrors: 0 });
      }),
      { numRuns: 50 },
    );
  });

  it('takes one transaction when all is well, and a bounded number per bad item otherwise', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async ([size, bad]) => {
        const offenders = new Set(bad.filter((item) => item < size));
        const { calls } = await settleBatch(itemsOf(size), offenders, never);
        const depth = Math.ceil(Math.log2(Math.max(size, 1)));
        expect(calls).toBeLessThanOrEqual(Math.min(1 + 2 * depth * offenders.size, 2 * size));
      }),
    );
  });

  it('finds one bad item among a hundred in fifteen transactions', async () => {
    const { calls } = await settleBatch(itemsOf(100), new Set([37]), never);
    expect(calls).toBeLessThanOrEqual(15);
  });

  it('blames nobody and writes nothing while the database is unavailable, and tries no halves', async () => {
    const seen = await settleBatch(itemsOf(100), new Set([1, 2, 3]), () => true);
    expect(seen).toEqual({ settled: [], failed: [], unwritten: itemsOf(100), calls: 1, wrongErrors: 0 });
  });

  it('ends every item exactly once when the database becomes unavailable in between, and blames only the bad', async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.nat(40), async ([size, bad], lastCall) => {
        const offenders = new Set(bad.filter((item) => item < size));
        const seen = await settleBatch(itemsOf(size), offenders, (call) => call > lastCall);
        const ended = [...seen.settled, ...seen.failed, ...seen.unwritten].sort((a, b) => a - b);
        expect(ended).toEqual(itemsOf(size));
        expect(seen.failed.filter((item) => !offenders.has(item))).toEqual([]);
      }),
    );
  });

  it('counts an item whose failure cannot be written down as not reached, and goes on', async () => {
    const unwritten: [number[], string][] = [];
    const failed: number[] = [];
    await bisectFailures([1, 2], {
      ...nobodyWaits,
      isDatabaseAvailable: async () => false,
      settleBatch: () => Promise.reject(new Error('bad')),
      recordFailure: async (item) => {
        if (item === 1) throw new Error('cannot write');
        failed.push(item);
      },
      onUnavailable: (items, error) => void unwritten.push([[...items], (error as Error).message]),
    });
    expect(unwritten).toEqual([[[1], 'cannot write']]);
    expect(failed).toEqual([2]);
  });

  it('gives a cut connection a second go, and counts only what is the handler’s own', async () => {
    const seen = { failed: [] as number[], unwritten: [] as number[] };
    const plan = (errors: Error[]) => ({
      ...nobodyWaits,
      isDatabaseAvailable: async () => true,
      settleBatch: async () => {
        const error = errors.shift();
        if (error) throw error;
      },
      recordFailure: async (item: number) => void seen.failed.push(item),
      onUnavailable: (items: readonly number[]) => void seen.unwritten.push(...items),
    });
    await bisectFailures([1], plan([databaseAway()]));
    expect(seen).toEqual({ failed: [], unwritten: [] });
    await bisectFailures([2], plan([databaseAway(), databaseAway()]));
    expect(seen).toEqual({ failed: [], unwritten: [2] });
    await bisectFailures([3], plan([new HandlerFailure(databaseAway())]));
    expect(seen).toEqual({ failed: [3], unwritten: [2] });
  });

  it.each([
    ['for which our side gives up each connection', new Error('Query read timeout')],
    ['that meets a damaged page', Object.assign(new Error('invalid page in block 2'), { code: 'XX001' })],
  ])('sets apart a batch %s, and puts off the one that costs it alone', async (_what, error) => {
    const seen = { apart: [] as number[][], held: [] as number[] };
    const plan = {
      isDatabaseAvailable: async () => true,
      settleBatch: () => Promise.reject(error),
      recordFailure: () => Promise.reject(new Error('nobody is to blame')),
      postpone: async (item: number) => void seen.held.push(item),
      isolate: (items: readonly number[]) => void seen.apart.push([...items]),
      onUnavailable: () => {
        throw new Error('the database is there');
      },
    };
    await bisectFailures([1, 2, 3], plan);
    await bisectFailures([2], plan);
    expect(seen).toEqual({ apart: [[1, 2, 3]], held: [2] });
  });

  const inTime = { limitMs: 1_000, statementsMs: 10 };
  const inStatements = { limitMs: 1_000, statementsMs: 900 };

  it.each([
    ['waited for a lock', Object.assign(new Error('lock'), { code: '55P03' }), 'held'],
    ['was cancelled by our limit', Object.assign(new Error('slow'), { code: '57014' }), 'held'],
    ['met a conflict each time', Object.assign(new Error('deadlock'), { code: '40P01' }), 'held'],
    ['ran out of time in statements', new HandlerTimeoutError('k', ['1'], inStatements), 'held'],
    ['hung', new HandlerTimeoutError('k', ['1'], inTime), 'failed'],
  ])('halves no batch that %s, and sets its items apart', async (_what, error, alone) => {
    const seen = { calls: 0, apart: [] as number[][], alone: [] as [string, number][] };
    const plan = {
      isDatabaseAvailable: async () => true,
      settleBatch: async () => {
        seen.calls++;
        throw error;
      },
      recordFailure: async (item: number) => void seen.alone.push(['failed', item]),
      postpone: async (item: number) => void seen.alone.push(['held', item]),
      isolate: (items: readonly number[]) => void seen.apart.push([...items]),
      onUnavailable: () => undefined,
    };
    await bisectFailures([1, 2, 3, 4], plan);
    expect(seen).toEqual({ calls: 1, apart: [[1, 2, 3, 4]], alone: [] });
    await bisectFailures([3], plan);
    expect(seen.alone).toEqual([[alone, 3]]);
  });
});
