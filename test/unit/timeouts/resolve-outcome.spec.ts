import fc from 'fast-check';
import { resolveOutcome, LOOK_UP, DONE, type TimeoutOutcome } from '../../../src/timeouts/model/timeout';

const dueAt = new Date('2026-01-01T00:00:00Z');
const park = { type: 'park', reason: 'unreadable' } as const;
const counted = { type: 'retry', reason: 'no', counted: true } as const;
const uncounted = { type: 'retry', reason: 'down', counted: false } as const;

const budgets = fc.record({
  attempts: fc.nat(1_200),
  maxAttempts: fc.integer({ min: 1, max: 1_000 }),
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

describe('what is written for an outcome', () => {
  // `random: 0.5` is the middle of the jitter; three failures are allowed.
  it.each<[string, TimeoutOutcome, number, object]>([
    ['done ends it', DONE, 2, { type: 'done' }],
    ['ask stays ask, whatever failed before', LOOK_UP, 99, { type: 'look-up' }],
    ['a new deadline is taken over', { type: 'reschedule', dueAt }, 99, { type: 'reschedule', dueAt }],
    ['park parks without counting', park, 0, { ...park, attempts: 0 }],
    ['the first failure is counted', counted, 0, { type: 'retry', attempts: 1, reason: 'no', afterMs: 2_000 }],
    ['the second waits longer', counted, 1, { type: 'retry', attempts: 2, reason: 'no', afterMs: 5_000 }],
    ['the last one parks with its reason', counted, 2, { type: 'park', attempts: 3, reason: 'no' }],
    ['one above the budget parks too', counted, 7, { type: 'park', attempts: 8, reason: 'no' }],
    ['an uncounted one leaves the count', uncounted, 0, { type: 'retry', attempts: 0, reason: 'down', afterMs: 2_000 }],
    ['and never parks', uncounted, 9, { type: 'retry', attempts: 9, reason: 'down', afterMs: 300_000 }],
    ['a wait asked for is obeyed', { ...counted, afterMs: 7 }, 0, { type: 'retry', attempts: 1, afterMs: 7 }],
    ['none is not the back-off', { ...uncounted, afterMs: 0 }, 0, { type: 'retry', attempts: 0, afterMs: 0 }],
    ['a negative one is none', { ...uncounted, afterMs: -9 }, 0, { type: 'retry', attempts: 0, afterMs: 0 }],
  ])('%s', (_, outcome, attempts, expected) => {
    expect(resolveOutcome(outcome, { attempts, maxAttempts: 3, random: 0.5 })).toMatchObject(expected);
  });

  it('says that nobody was asked, so that the day until waits count begins anew', () => {
    const budget = { attempts: 0, maxAttempts: 3, random: 0.5 };
    expect(resolveOutcome({ ...uncounted, answers: 'none' }, budget)).toMatchObject({ answers: 'none' });
    expect(resolveOutcome(uncounted, budget)).not.toHaveProperty('answers');
  });

  it('forgets failures after a clear answer', () => {
    const clear = resolveOutcome({ ...uncounted, answers: 'clear' }, { attempts: 2, maxAttempts: 3, random: 0.5 });
    expect(clear).toMatchObject({ type: 'retry', attempts: 0, answers: 'clear' });
  });

  it('is parked if, and only if, the failure counts and uses up the budget', () => {
    const waits = fc.option(fc.integer({ min: -10, max: 1_000_000 }), { nil: undefined });
    fc.assert(
      fc.property(budgets, fc.boolean(), waits, (budget, isCounted, afterMs) => {
        const outcome = { type: 'retry', reason: 'no', counted: isCounted, ...(afterMs !== undefined && { afterMs }) };
        const resolved = resolveOutcome(outcome as TimeoutOutcome, budget);
        const attempts = isCounted ? budget.attempts + 1 : budget.attempts;
        expect(resolved).toMatchObject({ attempts, reason: 'no' });
        expect(resolved.type).toBe(isCounted && attempts >= budget.maxAttempts ? 'park' : 'retry');
      }),
    );
  });

  it('is refused for an outcome there is none of', () => {
    const outcome = { type: 'retired' } as unknown as TimeoutOutcome;
    expect(() => resolveOutcome(outcome, { attempts: 0, maxAttempts: 3, random: 0 })).toThrow('retired');
  });
});
