import { type Clock } from '../../../src/clock';
import { LOCK_LIMIT_MS, LockPatience } from '../../../src/database/transaction';

describe('the patience for locks', () => {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs } as Clock;

  it('waits long once, then shortly, then longer on probation, and long again', () => {
    const patience = new LockPatience(clock);
    expect(patience.limitMs()).toBe(LOCK_LIMIT_MS);
    patience.waitedInVain(LOCK_LIMIT_MS);
    const short = patience.limitMs();
    expect(short).toBeLessThan(LOCK_LIMIT_MS / 10);
    nowMs += 1_500;
    // Two of our transactions that meet must not keep the patience short for good.
    patience.waitedInVain(short);
    nowMs += 600;
    const probation = patience.limitMs();
    expect(probation).toBeGreaterThan(short);
    expect(probation).toBeLessThan(LOCK_LIMIT_MS);
    nowMs += 2_000;
    expect(patience.limitMs()).toBe(LOCK_LIMIT_MS);
  });

  it('waits shortly again when a wait on probation fails', () => {
    const patience = new LockPatience(clock);
    patience.waitedInVain(LOCK_LIMIT_MS);
    const short = patience.limitMs();
    nowMs += 2_000;
    patience.waitedInVain(patience.limitMs());
    expect(patience.limitMs()).toBe(short);
  });
});
