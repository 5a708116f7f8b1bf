import { assertNever } from '../../errors';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { decideWithoutOpenAttempts, type PartialPolicy } from './decide-closing';
import { moneyReceived } from '../pay/money-received';
import { type LockedOrder } from '../order';
import { isUndecided } from '../order-status';
import { canTakeMoney, isSameRow, isUnconfirmed, type PaymentAttempt } from '../payment-attempt';
import { type OpenFinding, shortestOf, type Wait, waitForFinding } from '../lookup/wait-for-finding';
import { withFindings } from '../lookup/with-findings';

/** What an order becomes after its look-ups. */
export type LookUpDecision =
  /** `wait`: other attempts of the paid order are open and must be closed. */
  | { readonly type: 'paid'; readonly wait?: Wait }
  /** `returns`: partial payments, which are refunded. */
  | { readonly type: 'closed' | 'cancelled'; readonly returns: readonly PaymentAttempt[] }
  | ({ readonly type: 'wait' } & Wait)
  | { readonly type: 'park'; readonly reason: string }
  /** Another transaction has decided in the meantime. Only the attempts are written. */
  | { readonly type: 'decided'; readonly wait?: Wait };

/** Pure: applies the findings. The order must have been read under its lock. `waitedMs`: since the first look-up. */
export function decideAfterLookUp(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
  partial: PartialPolicy,
): LookUpDecision {
  const after = withFindings(order, findings);
  const wait = waitFor(after, findings, now, waitedMs);
  if (!isUndecided(order.status)) return { type: 'decided', ...(order.status === 'PAID' && wait ? { wait } : {}) };
  if (moneyReceived(after, after.attempts).type === 'sufficient') return { type: 'paid', ...(wait ? { wait } : {}) };
  const unclear = wait ?? waitForConfirmation(after, findings, now, waitedMs);
  if (unclear) return { type: 'wait', ...unclear };
  const decision = decideWithoutOpenAttempts(after, partial);
  switch (decision.type) {
    case 'pay':
      return { type: 'paid' };
    case 'park':
      return decision;
    case 'close':
      return { type: decision.to === 'CANCELLED' ? 'cancelled' : 'closed', returns: decision.returns };
    default:
      return assertNever(decision);
  }
}

/** The shortest wait of all attempts that could still take money. Undefined if there is none. */
function waitFor(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
): Wait | undefined {
  const waits = order.attempts
    .filter(canTakeMoney)
    .map((attempt) => waitOf(attempt, openFinding(attempt, findings), waitedMs, now));
  return shortestOf(waits);
}

/**
 * The wait for providers that have not confirmed or denied a reported payment. Undefined if no answer is outstanding.
 */
function waitForConfirmation(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
): Wait | undefined {
  const waits = order.attempts.filter(isUnconfirmed).flatMap((attempt) => {
    const found = openFinding(attempt, findings);
    const isFinal = found.type === 'UNCONFIRMED' || found.type === 'NO_PROVIDER';
    return isFinal ? [] : [waitOf(attempt, found, waitedMs, now)];
  });
  return shortestOf(waits);
}

function openFinding(attempt: PaymentAttempt, findings: readonly AttemptFinding[]): OpenFinding {
  const found = findings.find((candidate) => isSameRow(candidate, attempt))?.finding;
  return isOpen(found) ? found : NOT_ASKED;
}

function waitOf({ provider, reference }: PaymentAttempt, found: OpenFinding, waitedMs: number, now: Date): Wait {
  const wait = waitForFinding(found, waitedMs, now);
  return { ...wait, reason: `${provider} ${reference}: ${wait.reason}` };
}

const NOT_ASKED: OpenFinding = { type: 'UNKNOWN', reason: 'not looked up yet' };

function isOpen(finding: AttemptFinding['finding'] | undefined): finding is OpenFinding {
  return finding !== undefined && finding.type !== 'PAID' && finding.type !== 'CLOSED';
}
