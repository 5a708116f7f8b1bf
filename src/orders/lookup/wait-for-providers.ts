import { type AttemptFinding } from './attempt-finding';
import { type LockedOrder } from '../order';
import { isUndecided } from '../order-status';
import { isPaidByReports } from '../pay/money-received';
import { canTakeMoney, isSameRow, isUnconfirmed } from '../payment-attempt';
import { type DueTimeout } from '../../timeouts';
import { shortestOf, type Wait, waitedMs, waitForFinding } from './wait-for-finding';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Providers answer from replicas that lag behind their notifications. None lags longer than this. */
const LONGEST_LAG_MS = 10 * MINUTE;

/**
 * Pure: returns how long to wait before the next look-up of an order. `due` was scheduled by a notification or report.
 * Undefined: the answers are final. `order` is its state after those answers.
 */
export function waitForProviders(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  due: Pick<DueTimeout, 'askedSince' | 'dueAt'>,
): Wait | undefined {
  const waits = findings.flatMap((found): Wait[] => {
    const { provider, reference, finding } = found;
    const isReported = order.attempts.some((attempt) => isUnconfirmed(attempt) && isSameRow(attempt, found));
    if (finding.type !== 'UNKNOWN' && !(finding.type === 'IN_PROGRESS' && isReported)) return [];
    const wait = waitForFinding(finding, waitedMs(due, now), now);
    return [{ ...wait, reason: `${provider} ${reference}: ${wait.reason}` }];
  });
  return shortestOf([...waits, ...waitForLag(order, findings, now.getTime() - due.dueAt.getTime())]);
}

/**
 * The reported change may not be visible yet. It may be a payment, and nobody else asks for it: an undecided order may
 * have no deadline, and one that is paid only by a report has nothing to wait for.
 */
function waitForLag(order: LockedOrder, findings: readonly AttemptFinding[], sinceMs: number): Wait[] {
  const isDoubted =
    isPaidByReports(order, order.attempts) && findings.some(({ finding }) => finding.type === 'UNCONFIRMED');
  const isOpen = isUndecided(order.status) && order.attempts.some(canTakeMoney);
  if (!(isDoubted || isOpen) || sinceMs >= LONGEST_LAG_MS) return [];
  const afterMs = sinceMs < 10 * SECOND ? 5 * SECOND : sinceMs < MINUTE ? 30 * SECOND : 2 * MINUTE;
  return [{ reason: 'the providers show no payment yet', counted: false, afterMs }];
}
