import fc from 'fast-check';
import { DueBuffer } from '../../../src/timeouts/engine/received-wake-ups';
import { ManualClock } from '../../support/manual-clock';

interface Released {
  readonly item: number;
  readonly atMs: number;
}

function setup(fireEarlyMs = 0) {
  const clock = new ManualClock(fireEarlyMs);
  const batches: number[][] = [];
  const released: Released[] = [];
  const hold = new DueBuffer<number>(clock, {
    nowMs: () => clock.now(),
    onDue: (items) => {
      batches.push(items);
      released.push(...items.map((item) => ({ item, atMs: clock.now() })));
    },
  });
  return { clock, hold, batches, released, startMs: clock.now() };
}

describe('DueBuffer', () => {
  it('releases all items in due order, never early and at most a millisecond late, even if timers fire early', () => {
    // Sixty-fourths: adding them to the start is exact, so the order can be compared exactly.
    const delays = fc.array(
      fc.integer({ min: 1, max: 320_000 }).map((n) => n / 64),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(delays, fc.constantFrom(0, 0.4, 0.99), (dues, fireEarlyMs) => {
        const { clock, hold, released, startMs } = setup(fireEarlyMs);
        dues.forEach((due, item) => hold.add(item, startMs + due));
        clock.advance(6_000);
        expect(released).toHaveLength(dues.length);
        const releasedDues = released.map(({ item }) => dues[item] ?? NaN);
        expect(releasedDues).toEqual([...dues].sort((a, b) => a - b));
        for (const { item, atMs } of released) {
          const lateMs = atMs - startMs - (dues[item] ?? NaN);
          expect(lateMs).toBeGreaterThanOrEqual(0);
          expect(lateMs).toBeLessThan(2);
        }
      }),
    );
  });

  it('releases items that are due in the same millisecond as one batch, in order of arrival', () => {
    const { clock, hold, batches, startMs } = setup();
    for (const item of [1, 2, 3]) hold.add(item, startMs + 10);
    hold.add(4, startMs + 12);
    clock.advance(20);
    expect(batches).toEqual([[1, 2, 3], [4]]);
  });

  it('releases items that are due already after the turn of the caller, in one batch', async () => {
    const { hold, batches, startMs } = setup();
    hold.add(1, startMs);
    hold.add(2, startMs - 5_000);
    expect(batches).toEqual([]);
    await Promise.resolve();
    expect(batches).toEqual([[2, 1]]);
  });

  it('sets its timer again for an item that is due before all others', () => {
    const { clock, hold, batches, startMs } = setup();
    hold.add(1, startMs + 900);
    hold.add(2, startMs + 5);
    clock.advance(6);
    expect(batches).toEqual([[2]]);
    expect(hold.size).toBe(1);
  });

  it('notices within a second that the clock was set forward', () => {
    const { clock, hold, batches, startMs } = setup();
    hold.add(1, startMs + 60_000);
    clock.jump(59_990);
    clock.advance(1_000);
    expect(batches).toEqual([[1]]);
  });

  it('does not release early when the clock is set back', () => {
    const { clock, hold, batches, startMs } = setup();
    hold.add(1, startMs + 500);
    clock.jump(-300);
    clock.advance(799);
    expect(batches).toEqual([]);
    clock.advance(1);
    expect(batches).toEqual([[1]]);
  });

  it('returns all items when drained, and leaves no timer', async () => {
    const { clock, hold, batches, startMs } = setup();
    hold.add(1, startMs + 700);
    hold.add(2, startMs + 300);
    hold.add(3, startMs);
    expect(hold.drain()).toEqual([3, 2, 1]);
    expect(hold.size).toBe(0);
    expect(clock.pendingTimers).toBe(0);
    await Promise.resolve();
    clock.advance(1_000);
    expect(batches).toEqual([]);
  });

  it('accepts items after a drain', () => {
    const { clock, hold, batches, startMs } = setup();
    hold.add(1, startMs + 5);
    hold.drain();
    hold.add(2, startMs + 10);
    clock.advance(10);
    expect(batches).toEqual([[2]]);
  });

  it('stays on time if the receiver throws or adds items', () => {
    const clock = new ManualClock();
    const seen: number[] = [];
    const hold: DueBuffer<number> = new DueBuffer<number>(clock, {
      nowMs: () => clock.now(),
      onDue: (items) => {
        seen.push(...items);
        if (items.includes(1)) hold.add(3, clock.now() + 2);
        if (items.includes(1)) throw new Error('receiver');
      },
    });
    hold.add(1, clock.now() + 5);
    hold.add(2, clock.now() + 20);
    expect(() => clock.advance(5)).toThrow('receiver');
    clock.advance(15);
    expect(seen).toEqual([1, 3, 2]);
  });

  it('keeps 20,000 items with one timer at a time in little time', () => {
    const { clock, hold, released, startMs } = setup();
    const before = process.cpuUsage();
    for (let item = 0; item < 20_000; item++) hold.add(item, startMs + 1 + ((item * 7_919) % 1_000));
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1_001);
    expect(released).toHaveLength(20_000);
    // Linear insertion would take seconds of the processor. The heap takes about 30 ms.
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
  });
});
