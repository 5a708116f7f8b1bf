import { InvalidTimeoutError } from '../timeout-errors';
import { type ScheduleTimeout } from '../timeout';

/** Kinds become routing keys and queue names. */
const KIND = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const MAX_KEY = 200;
/** What a date may be in every place that it goes through; PostgreSQL ends later, ISO texts do not. */
const LAST_DUE_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const MAX_AFTER_MS = 10 * 366 * 24 * 3_600_000;

/** @throws InvalidTimeoutError naming every problem of every request. */
export function validateRequests(requests: readonly ScheduleTimeout[]): void {
  const problems = requests.flatMap((request) =>
    problemsOf(request).map((problem) => `${labelOf(request)}: ${problem}`),
  );
  if (problems.length > 0) throw new InvalidTimeoutError(problems);
}

export function isValidKind(kind: string): boolean {
  return KIND.test(kind);
}

function problemsOf({ kind, key, dueAt, afterMs }: ScheduleTimeout): string[] {
  const problems: string[] = [];
  if (!isValidKind(kind)) problems.push(`kind must match ${KIND.source}`);
  if (key.includes('\0')) problems.push('key must not contain NUL');
  if (key.length === 0 || key.length > MAX_KEY) problems.push(`key must have 1 to ${MAX_KEY} characters`);
  if ((dueAt === undefined) === (afterMs === undefined)) problems.push('give exactly one of dueAt and afterMs');
  if (dueAt && Number.isNaN(dueAt.getTime())) problems.push('dueAt must be a valid date');
  if (dueAt && dueAt.getTime() > LAST_DUE_MS) problems.push('dueAt must not be after the year 9999');
  if (afterMs !== undefined && !(Number.isFinite(afterMs) && afterMs >= 0 && afterMs <= MAX_AFTER_MS)) {
    problems.push(`afterMs must be a number from 0 to ${MAX_AFTER_MS} (got ${afterMs})`);
  }
  return problems;
}

function labelOf({ kind, key }: ScheduleTimeout): string {
  return `${kind}/${key}`.slice(0, 120);
}
