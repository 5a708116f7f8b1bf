import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { DatabaseClock } from '../../../src/timeouts/engine/received-wake-ups';
import { dataSourceStub } from '../../support/data-source-stub';
import { ManualClock } from '../../support/manual-clock';

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A database whose clock is ahead by `aheadMs`; a question takes `thereMs`, its answer `backMs`. */
function setup({ aheadMs = 5_000, travels = [{ thereMs: 0, backMs: 0 }] } = {}) {
  const clock = new ManualClock();
  const state = { aheadMs, queries: 0, isUnavailable: false };
  const trueNowMs = () => clock.monotonic() + state.aheadMs;
  const dataSource = dataSourceStub({}, async () => {
    if (state.isUnavailable) throw new Error('unavailable');
    const { thereMs, backMs } = travels[state.queries++ % travels.length] ?? { thereMs: 0, backMs: 0 };
    clock.advance(thereMs);
    const now = trueNowMs();
    clock.advance(backMs);
    return [{ now }];
  });
  return { clock, state, trueNowMs, databaseClock: new DatabaseClock(dataSource, clock) };
}

describe('DatabaseClock', () => {
  it('is never ahead of the database, and behind by no more than the quickest answer took', async () => {
    const ms = fc.integer({ min: 0, max: 4_000 }).map((n) => n / 8);
    const travelling = fc.array(fc.record({ thereMs: ms, backMs: ms }), { minLength: 3, maxLength: 3 });
    const ahead = fc.integer({ min: -1_000_000, max: 1_000_000 });
    await fc.assert(
      fc.asyncProperty(travelling, ahead, fc.nat(5_000), async (travels, aheadMs, laterMs) => {
        const { clock, trueNowMs, databaseClock } = setup({ aheadMs, travels });
        await databaseClock.start();
        clock.advance(laterMs);
        const behindMs = trueNowMs() - databaseClock.nowMs();
        expect(behindMs).toBeGreaterThanOrEqual(0);
        expect(behindMs).toBeLessThanOrEqual(Math.min(...travels.map(({ backMs }) => backMs)));
        await databaseClock.stop();
      }),
      { numRuns: 50 },
    );
  });

  it('follows when the database’s clock is set back, within ten seconds', async () => {
    const { clock, state, trueNowMs, databaseClock } = setup();
    await databaseClock.start();
    await settled();
    state.aheadMs -= 3_000;
    clock.advance(10_000);
    await settled();
    expect(databaseClock.nowMs()).toBe(trueNowMs());
    await databaseClock.stop();
  });

  it('goes on by the last known offset while the database is unavailable', async () => {
    const { clock, state, trueNowMs, databaseClock } = setup();
    await databaseClock.start();
    await settled();
    state.isUnavailable = true;
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    clock.advance(10_000);
    await settled();
    expect(databaseClock.nowMs()).toBe(trueNowMs());
    expect(errors).toHaveBeenCalledTimes(1);
    errors.mockRestore();
    await databaseClock.stop();
  });

  it('does not start without the database', async () => {
    const { state, databaseClock } = setup();
    state.isUnavailable = true;
    await expect(databaseClock.start()).rejects.toThrow('unavailable');
  });

  it('refuses to tell the time before it knows it', () => {
    expect(() => setup().databaseClock.nowMs()).toThrow('start() was not awaited');
  });

  it('asks no more and leaves no timer once it is stopped', async () => {
    const { clock, state, databaseClock } = setup();
    await databaseClock.start();
    await settled();
    await databaseClock.stop();
    const { queries } = state;
    clock.advance(60_000);
    await settled();
    expect(state.queries).toBe(queries);
    expect(clock.pendingTimers).toBe(0);
  });
});
