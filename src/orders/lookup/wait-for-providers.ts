import { type AttemptFinding } from './attempt-finding';
import { type LockedOrder } from '../order';
import { isUndecided } from '../order-status';
import { canTakeMoney, isSameAttempt, isUnconfirmed } from '../payment-attempt';
import { shortestOf, type Wait, waitForFinding } from './wait-for-finding';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Providers answer from replicas that lag behind their notifications. None lags longer than this. */
const LONGEST_LAG_MS = 10 * MINUTE;

/**
 * Pure: returns how long to wait before the next look-up of an order, `waitedMs` after a notification or report started
 * it. Undefined: the answers are final. `order` is its state after those answers.
 */
export function waitForProviders(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
): Wait | undefined {
  const waits = findings.flatMap((found): Wait[] => {
    const { provider, reference, finding } = found;
    const isReported = order.attempts.some((attempt) => isUnconfirmed(attempt) && isSameAttempt(attempt, found));
    if (finding.type !== 'UNKNOWN' && !(finding.type === 'IN_PROGRESS' && isReported)) return [];
    const wait = waitForFinding(finding, waitedMs, now);
    return [{ ...wait, reason: `${provider} ${reference}: ${wait.reason}` }];
  });
  return shortestOf([...waits, ...waitForLag(order, waitedMs)]);
}

/** The reported change may not be visible yet. It may be a payment, and the order may have no deadline. */
function waitForLag({ status, attempts }: LockedOrder, waitedMs: number): Wait[] {
  if (!isUndecided(status) || !attempts.some(canTakeMoney) || waitedMs >= LONGEST_LAG_MS) return [];
  const afterMs = waitedMs < 10 * SECOND ? 5 * SECOND : waitedMs < MINUTE ? 30 * SECOND : 2 * MINUTE;
  return [{ reason: 'the providers show no payment yet', counted: false, afterMs }];
}
