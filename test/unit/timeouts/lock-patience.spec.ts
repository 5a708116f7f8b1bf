import { type Clock } from '../../../src/clock';
import { LOCK_LIMIT_MS, LockPatience } from '../../../src/timeouts/settling/lock-patience';

describe('the patience for locks', () => {
  let nowMs = 0;
  const clock = { monotonic: () => nowMs } as Clock;

  it('waits long once, then shortly for a while, and long again', () => {
    const patience = new LockPatience(clock);
    expect(patience.limitMs).toBe(LOCK_LIMIT_MS);
    patience.waitedInVain(LOCK_LIMIT_MS);
    const short = patience.limitMs;
    expect(short).toBeLessThan(LOCK_LIMIT_MS / 10);
    nowMs += 1_500;
    // Two of ours that meet must not keep the patience short for good.
    patience.waitedInVain(short);
    nowMs += 600;
    expect(patience.limitMs).toBe(LOCK_LIMIT_MS);
  });
});
