import { type AttemptFinding } from './attempt-finding';
import { type LockedOrder } from '../order';
import { isUndecided } from '../order-status';
import { canTakeMoney, isSameAttempt, isUnconfirmed } from '../payment-attempt';
import { shortestOf, type Wait, waitForFinding } from './wait-for-finding';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Providers answer from copies that lag behind their notifications; by then, none does any more. */
const LONGEST_LAG_MS = 10 * MINUTE;

/**
 * Pure: how long to wait before the providers of an order are asked again, once a notification or a report had them asked
 * `waitedMs` ago; undefined: what they said is the end of it. `order` is as it stands after their answers.
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

/** The change that was told of may not show yet: it is a payment, perhaps, and the order may have no deadline. */
function waitForLag({ status, attempts }: LockedOrder, waitedMs: number): Wait[] {
  if (!isUndecided(status) || !attempts.some(canTakeMoney) || waitedMs >= LONGEST_LAG_MS) return [];
  const afterMs = waitedMs < 10 * SECOND ? 5 * SECOND : waitedMs < MINUTE ? 30 * SECOND : 2 * MINUTE;
  return [{ reason: 'the providers show no payment yet', counted: false, afterMs }];
}
