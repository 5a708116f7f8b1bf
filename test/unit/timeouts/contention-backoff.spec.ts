import { contentionBackoffMs } from '../../../src/database/transaction';

describe('what waits for a lock', () => {
  it.each([
    ['just due', 0, 200],
    ['early by the clock', -5_000, 200],
    ['a little late', 4_000, 500],
    ['late', 20_000, 2_500],
    ['very late', 3_600_000, 4_000],
  ])('comes again ever later, but soon after the lock is gone: %s', (_what, lateMs, afterMs) => {
    expect(contentionBackoffMs(lateMs, 0)).toBe(afterMs);
    expect(contentionBackoffMs(lateMs, 0.999)).toBeLessThanOrEqual(afterMs * 1.2);
  });

  it('is asked for some forty times in forty seconds', () => {
    let tries = 0;
    for (let lateMs = 0; lateMs < 40_000; lateMs += contentionBackoffMs(lateMs, 0)) tries++;
    expect(tries).toBeGreaterThan(20);
    expect(tries).toBeLessThan(45);
  });
});
