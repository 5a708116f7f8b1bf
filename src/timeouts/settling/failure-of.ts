import { blameFor } from './blame';
import { contentionBackoffMs } from '../../database';
import { backoffMs } from './retry-policy';
import { HandlerTimeoutError } from '../timeout-errors';
import { type Failure } from './timeout-settler';

/** What to write for a row that failed on its own. @param nowMs the database's time */
export function failureOf(error: unknown, nowMs: number): Failure {
  const reason = error instanceof Error ? error.message : String(error);
  switch (blameFor(error)) {
    case 'unavailable':
      return { reason, counted: false };
    case 'contention':
      return {
        reason,
        counted: false,
        afterMs: (due) => contentionBackoffMs(nowMs - due.dueAt.getTime(), Math.random()),
      };
    case 'hang':
    case 'item':
      return error instanceof HandlerTimeoutError ? { reason, afterMs: afterHang(error) } : { reason };
  }
}

/** At least as long as it hung, so that rows that hang take at most half of the time from the others. */
function afterHang({ limitMs }: HandlerTimeoutError): NonNullable<Failure['afterMs']> {
  return ({ attempts }) => Math.max(limitMs, backoffMs(attempts + 1, Math.random()));
}
