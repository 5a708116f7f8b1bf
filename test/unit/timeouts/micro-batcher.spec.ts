import fc from 'fast-check';
import { MicroBatcher } from '../../../src/timeouts/engine/batches';
import { ManualClock } from '../../support/manual-clock';

const WAIT_MS = 2;
const BESIDE_MS = 20;
const settled = () => new Promise((resolve) => setImmediate(resolve));

function setup({ size = 3, concurrency = 2 } = {}) {
  const clock = new ManualClock();
  const state = { batches: [] as number[][], mayRun: true, active: 0, mostActive: 0 };
  const open: (() => void)[] = [];
  const batcher = new MicroBatcher<number>(clock, {
    size,
    waitMs: WAIT_MS,
    besideMs: BESIDE_MS,
    concurrency,
    mayRun: () => state.mayRun,
    run: (items) => {
      state.batches.push(items);
      state.mostActive = Math.max(state.mostActive, ++state.active);
      return new Promise((resolve) => open.push(() => (state.active--, resolve())));
    },
  });
  /** Lets the oldest run end. */
  const endOne = async () => {
    open.shift()?.();
    await settled();
  };
  return { clock, state, batcher, endOne };
}

describe('MicroBatcher', () => {
  it('runs a full batch at once', () => {
    const { state, batcher } = setup();
    batcher.add([1]);
    expect(state.batches).toEqual([]);
    batcher.add([2, 3]);
    expect(state.batches).toEqual([[1, 2, 3]]);
  });

  it('takes 200 000 that become due together, more than a function takes as arguments', () => {
    const { state, batcher } = setup({ size: 200_000, concurrency: 1 });
    batcher.add(Array.from({ length: 200_000 }, (_, n) => n));
    expect(state.batches.map((batch) => [batch.length, batch[0], batch.at(-1)])).toEqual([[200_000, 0, 199_999]]);
  });

  it('runs a smaller one when its first item has waited for company', () => {
    const { clock, state, batcher } = setup();
    batcher.add([1]);
    clock.advance(WAIT_MS - 1);
    batcher.add([2]);
    expect(state.batches).toEqual([]);
    clock.advance(1);
    expect(state.batches).toEqual([[1, 2]]);
  });

  it('lets a smaller one wait for the end of the run before it', async () => {
    const { clock, state, batcher, endOne } = setup();
    batcher.add([1, 2, 3]);
    batcher.add([4]);
    clock.advance(BESIDE_MS - 1);
    batcher.add([5]);
    expect(state.batches).toEqual([[1, 2, 3]]);
    await endOne();
    expect(state.batches).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('runs a smaller one beside a run that takes long', () => {
    const { clock, state, batcher } = setup();
    batcher.add([1, 2, 3]);
    batcher.add([4]);
    clock.advance(BESIDE_MS);
    expect(state.batches).toEqual([[1, 2, 3], [4]]);
  });

  it('cuts what is more than a batch into several, in order', () => {
    const { state, batcher } = setup({ concurrency: 9 });
    batcher.add([1, 2, 3, 4, 5, 6, 7]);
    expect(state.batches).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  it('takes nothing for nothing', () => {
    const { clock, batcher } = setup();
    batcher.add([]);
    expect(clock.timersSet).toBe(0);
    expect(batcher.isIdle).toBe(true);
  });

  it('runs no more batches at once than allowed, and the next as soon as one has ended', async () => {
    const { state, batcher, endOne } = setup({ concurrency: 2 });
    batcher.add([1, 2, 3, 4, 5, 6, 7]);
    expect(state.batches).toHaveLength(2);
    await endOne();
    expect(state.batches).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  it('holds batches back while the gate is shut, until it is poked', () => {
    const { clock, state, batcher } = setup();
    state.mayRun = false;
    batcher.add([1, 2, 3, 4]);
    clock.advance(10 * WAIT_MS);
    state.mayRun = true;
    expect(state.batches).toEqual([]);
    batcher.poke();
    expect(state.batches).toEqual([[1, 2, 3], [4]]);
  });

  it('asks the gate before every batch', () => {
    const { state, batcher } = setup({ size: 1, concurrency: 9 });
    jest.spyOn(state.batches, 'push').mockImplementation((items) => {
      state.mayRun = false;
      return items.length;
    });
    batcher.add([1, 2, 3]);
    expect(state.batches.push).toHaveBeenCalledTimes(1);
  });

  it('returns what no run has begun, and leaves no timer', () => {
    const { clock, state, batcher } = setup({ concurrency: 1 });
    batcher.add([1, 2, 3]);
    batcher.add([4, 5]);
    expect(batcher.withdraw()).toEqual([4, 5]);
    expect(clock.pendingTimers).toBe(0);
    expect(batcher.withdraw()).toEqual([]);
    expect(state.batches).toEqual([[1, 2, 3]]);
  });

  it('is idle when nothing waits or runs, and tells everybody who waits for that', async () => {
    const { batcher, clock, endOne } = setup({ concurrency: 1 });
    await batcher.whenIdle();
    batcher.add([1, 2, 3]);
    batcher.add([4]);
    clock.advance(WAIT_MS);
    const told = jest.fn();
    void batcher.whenIdle().then(told);
    void batcher.whenIdle().then(told);
    await endOne();
    expect(told).not.toHaveBeenCalled();
    await endOne();
    expect(told).toHaveBeenCalledTimes(2);
    expect(batcher.isIdle).toBe(true);
  });

  it('gathers anew after every batch, also when that was full before the wait was over', async () => {
    const { clock, state, batcher, endOne } = setup();
    batcher.add([1]);
    batcher.add([2, 3]);
    await endOne();
    clock.advance(10 * WAIT_MS);
    batcher.add([4]);
    expect(state.batches).toEqual([[1, 2, 3]]);
  });

  it('runs every item once, in order, in batches and numbers as allowed, whatever comes when', async () => {
    const step = fc.oneof(
      fc.record({ type: fc.constant('add' as const), count: fc.nat(7) }),
      fc.record({ type: fc.constant('advance' as const), count: fc.nat(3) }),
      fc.record({ type: fc.constant('end' as const), count: fc.nat(2) }),
      fc.record({ type: fc.constant('gate' as const), count: fc.nat(1) }),
    );
    const plans = fc.record({ size: fc.integer({ min: 1, max: 4 }), concurrency: fc.integer({ min: 1, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(plans, fc.array(step, { maxLength: 15 }), async (plan, steps) => {
        const { clock, state, batcher, endOne } = setup(plan);
        let added = 0;
        for (const { type, count } of steps) {
          if (type === 'add') batcher.add(Array.from({ length: count }, () => added++));
          else if (type === 'advance') clock.advance(count);
          else if (type === 'end') for (let each = 0; each < count; each++) await endOne();
          else state.mayRun = count === 1;
        }
        state.mayRun = true;
        clock.advance(WAIT_MS);
        batcher.poke();
        while (!batcher.isIdle) await endOne();
        expect(state.batches.flat()).toEqual(Array.from({ length: added }, (_, item) => item));
        expect(Math.max(0, ...state.batches.map(({ length }) => length))).toBeLessThanOrEqual(plan.size);
        expect(state.mostActive).toBeLessThanOrEqual(plan.concurrency);
      }),
      { numRuns: 60 },
    );
  });
});
