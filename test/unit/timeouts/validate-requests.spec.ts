import { type ScheduleTimeout } from '../../../src/timeouts/model/timeout';
import { InvalidTimeoutError } from '../../../src/timeouts/model/errors';
import { isValidKind, validateRequests } from '../../../src/timeouts/scheduling/timeout-scheduler';

const good: ScheduleTimeout = { kind: 'order.payment', key: 'o-1', afterMs: 1_000 };
const dueAt = new Date('2026-01-01T00:00:00Z');
const TEN_YEARS_MS = 10 * 366 * 24 * 3_600_000;

/** What is wrong with these requests. */
function problemsOf(...requests: readonly ScheduleTimeout[]): readonly string[] {
  try {
    validateRequests(requests);
    return [];
  } catch (error) {
    if (error instanceof InvalidTimeoutError) return error.problems;
    throw error;
  }
}

describe('a request to schedule', () => {
  it.each<[string, ScheduleTimeout]>([
    ['a duration', good],
    ['no duration at all', { ...good, afterMs: 0 }],
    ['the longest duration', { ...good, afterMs: TEN_YEARS_MS }],
    ['a fraction of a millisecond', { ...good, afterMs: 0.5 }],
    ['a deadline', { kind: 'k', key: 'o-1', dueAt }],
    ['a deadline in the past', { kind: 'k', key: 'o-1', dueAt: new Date(0) }],
    ['the longest kind and key', { kind: 'k'.repeat(100), key: 'k'.repeat(200), afterMs: 1 }],
    ['any characters in its key', { ...good, key: 'Bestellung 7/ä:💶' }],
  ])('may have %s', (_, request) => {
    expect(problemsOf(request)).toEqual([]);
  });

  it.each<[string, ScheduleTimeout, string]>([
    ['an empty kind', { ...good, kind: '' }, '/o-1: kind must match'],
    ['a kind with a wildcard', { ...good, kind: 'order.#' }, 'order.#/o-1: kind must match'],
    ['a kind with a line end', { ...good, kind: 'order\n' }, 'kind must match'],
    ['too long a kind', { ...good, kind: 'k'.repeat(101) }, 'kind must match'],
    ['an empty key', { ...good, key: '' }, 'order.payment/: key must have 1 to 200 characters'],
    ['too long a key', { ...good, key: 'k'.repeat(201) }, 'key must have 1 to 200 characters'],
    ['a NUL, which PostgreSQL cannot hold', { ...good, key: 'o\0' }, 'key must not contain NUL'],
    ['neither deadline nor duration', { kind: 'k', key: 'a' }, 'k/a: give exactly one of dueAt and afterMs'],
    ['both', { ...good, dueAt }, 'give exactly one of dueAt and afterMs'],
    ['a deadline that is no date', { kind: 'k', key: 'a', dueAt: new Date('soon') }, 'k/a: dueAt must be a valid date'],
    [
      'a deadline beyond all calendars',
      { kind: 'k', key: 'a', dueAt: new Date(8.64e15) },
      'not be after the year 9999',
    ],
    ['a negative duration', { ...good, afterMs: -1 }, 'afterMs must be a number from 0 to'],
    ['no number for a duration', { ...good, afterMs: NaN }, '(got NaN)'],
    ['an endless duration', { ...good, afterMs: Infinity }, '(got Infinity)'],
    ['a duration above ten years', { ...good, afterMs: TEN_YEARS_MS + 1 }, `(got ${TEN_YEARS_MS + 1})`],
  ])('must not have %s', (_, request, problem) => {
    const problems = problemsOf(request);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  it('is refused together with the others, every problem of each named', () => {
    const problems = problemsOf(good, { kind: '', key: '', afterMs: -1 }, { kind: 'k', key: 'a' });
    expect(problems.map((problem) => problem.split(' ').slice(0, 2).join(' '))).toEqual([
      '/: kind',
      '/: key',
      '/: afterMs',
      'k/a: give',
    ]);
  });

  it('is refused with a stable code and all problems in the message', () => {
    const refuse = () => validateRequests([{ kind: 'k', key: '' }]);
    expect(refuse).toThrow(expect.objectContaining({ code: 'ORDER_TIMEOUT/INVALID_TIMEOUT' }) as Error);
    expect(refuse).toThrow(/key must have.*; .*exactly one/);
  });

  it('is named in its problems by a bounded label', () => {
    const [problem = ''] = problemsOf({ kind: 'k', key: 'x'.repeat(1_000_000), afterMs: 1 });
    expect(problem.length).toBeLessThan(200);
  });
});

describe('a kind', () => {
  it.each(['order.payment', 'A', '0', 'a_b-c.d'])('may be "%s"', (kind) => expect(isValidKind(kind)).toBe(true));
  it.each(['.order', '-order', '_order', 'a b', 'a*', 'ä'])('must not be "%s"', (kind) =>
    expect(isValidKind(kind)).toBe(false),
  );
});
