import { setMaxListeners } from 'node:events';
import fc from 'fast-check';
import { TokenBucket } from '../../../src/payments/resilience/resilient-provider';
import { ManualClock } from '../../support/manual-clock';

const never = new AbortController().signal;
// The real ResilientProvider does this for its callers' signals.
setMaxListeners(0, never);

describe('TokenBucket', () => {
  it('grants the burst at once and then one token per interval, first come, first served', async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(clock, 10, 2);
    const taken: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      void bucket.take(1_000, never).then(() => taken.push(`${name}@${clock.monotonic()}`));
    }
    await clock.pass(1_000);
    expect(taken).toEqual(['a@0', 'b@0', 'c@100', 'd@200']);
  });

  it('refuses at once if the wait would be too long, and returns how long it would be', async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(clock, 1, 1);
    await bucket.take(0, never);
    expect(await bucket.take(999, never)).toEqual({ type: 'too-long', waitMs: 1_000 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives the token of a caller that gave up to the next one', async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(clock, 1, 1);
    await bucket.take(0, never);
    const impatient = new AbortController();
    const first = bucket.take(5_000, impatient.signal);
    impatient.abort();
    expect(await first).toEqual({ type: 'aborted' });
    expect(clock.pendingTimers).toBe(0);
    expect(await bucket.take(999, never)).toEqual({ type: 'too-long', waitMs: 1_000 });
  });

  it('accumulates at most the burst, however long it is idle', async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(clock, 10, 2);
    await clock.pass(3_600_000);
    await bucket.take(0, never);
    await bucket.take(0, never);
    expect(await bucket.take(0, never)).toEqual({ type: 'too-long', waitMs: 100 });
  });

  it('never grants more than burst + rate x time, for any sequence of calls', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 10 }),
        fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 20 }),
        async (rate, burst, pauses) => {
          const clock = new ManualClock();
          const bucket = new TokenBucket(clock, rate, burst);
          let taken = 0;
          for (const pause of pauses) {
            void bucket.take(2_000, never).then(({ type }) => (taken += type === 'taken' ? 1 : 0));
            await clock.pass(pause);
            expect(taken).toBeLessThanOrEqual(burst + (rate * clock.monotonic()) / 1_000 + 1e-6);
          }
        },
      ),
      { numRuns: 30 },
    );
  });
});
