import { DONE, type TimeoutOutcome } from '../../timeouts';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { type PaymentAttempt } from '../payment-attempt';
import { shortestOf, type Wait, waitForFinding } from '../lookup/wait-for-finding';

/** Longer than a read replica of a provider lags behind; after it the answer is believed. */
const DOUBT_MS = 60_000;

/** Whether money could still come by this attempt although we took it for closed. */
export function isWatched({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return status === 'CLOSED';
}

/** Pure: the first moment of the watch after `now`; undefined: it is over. */
export function nextWatchAt(since: Date, offsetsMs: readonly number[], now: Date): Date | undefined {
  const moments = offsetsMs.map((ms) => since.getTime() + ms).filter((ms) => ms > now.getTime());
  return moments.length === 0 ? undefined : new Date(moments.reduce((first, next) => Math.min(first, next)));
}

/**
 * Pure: when to look again, once the providers were asked. CLOSED ends this round, anything unclear is asked again
 * soon. So is "not known" for a minute: the provider has closed this attempt before, so one of its answers is wrong,
 * and in the last round nobody would look behind it.
 */
export function planWatch(
  findings: readonly AttemptFinding[],
  { since, now, dueAt, offsetsMs }: { since: Date; now: Date; dueAt: Date; offsetsMs: readonly number[] },
): TimeoutOutcome {
  const next = nextWatchAt(since, offsetsMs, now);
  const wait = shortestWait(findings, now, now.getTime() - dueAt.getTime());
  const isSooner = wait !== undefined && (!next || now.getTime() + (wait.afterMs ?? 0) < next.getTime());
  // Counting may park the watch, so not before its last round.
  if (isSooner && !(wait.counted && next)) return { type: 'retry', ...wait };
  return next ? { type: 'reschedule', dueAt: next } : DONE;
}

function shortestWait(findings: readonly AttemptFinding[], now: Date, waitedMs: number): Wait | undefined {
  const waits = findings.flatMap(({ provider, reference, finding }) => {
    if (finding.type === 'PAID' || finding.type === 'CLOSED') return [];
    if (finding.type === 'NOT_FOUND_YET' && waitedMs >= DOUBT_MS) return [];
    const wait = waitForFinding(finding, waitedMs, now);
    return [{ ...wait, reason: `${provider} ${reference}: ${wait.reason}` }];
  });
  return shortestOf(waits);
}
