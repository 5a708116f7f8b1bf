import { assertNever } from '../errors';
import { applyFinding, type AttemptFinding } from './attempt-finding';
import { decideWithoutOpenAttempts, type PartialPolicy } from './decide-closing';
import { moneyReceived } from './money-received';
import { type LockedOrder } from './order';
import { isUndecided } from './order-status';
import { canTakeMoney, isSameAttempt, type PaymentAttempt } from './payment-attempt';
import { type OpenFinding, shortestOf, type Wait, waitForFinding } from './wait-for-finding';

/** What the order becomes, once its providers were asked. */
export type Settlement =
  /** `wait`: other attempts are still open on the paid order, and are to be closed. */
  | { readonly type: 'paid'; readonly wait?: Wait }
  /** `returns`: payments that are too little, and go back. */
  | { readonly type: 'closed' | 'cancelled'; readonly returns: readonly PaymentAttempt[] }
  | ({ readonly type: 'wait' } & Wait)
  | { readonly type: 'park'; readonly reason: string }
  /** Somebody else has decided meanwhile; only the attempts are written. */
  | { readonly type: 'decided'; readonly wait?: Wait };

/** Pure: applies what was found out. The order must come from under its lock; `dueAt` is when it had to be closed. */
export function decideSettlement(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  dueAt: Date,
  partial: PartialPolicy,
): Settlement {
  const after = withFindings(order, findings);
  const wait = waitFor(after, findings, now, now.getTime() - dueAt.getTime());
  if (!isUndecided(order.status)) return { type: 'decided', ...(order.status === 'PAID' && wait ? { wait } : {}) };
  if (moneyReceived(after, after.attempts).type === 'sufficient') return { type: 'paid', ...(wait ? { wait } : {}) };
  if (wait) return { type: 'wait', ...wait };
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

/** The order with its attempts as they are after the findings. */
export function withFindings(order: LockedOrder, findings: readonly AttemptFinding[]): LockedOrder {
  const findingOf = (attempt: AttemptFinding | LockedOrder['attempts'][number]): AttemptFinding | undefined =>
    findings.find((found) => isSameAttempt(found, attempt));
  return { ...order, attempts: order.attempts.map((attempt) => applyFinding(attempt, findingOf(attempt)?.finding)) };
}

/** The shortest wait of all attempts that could still bring money; undefined when there is none. */
function waitFor(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  now: Date,
  waitedMs: number,
): Wait | undefined {
  const waits = order.attempts.filter(canTakeMoney).map((attempt) => {
    const found = findings.find((candidate) => isSameAttempt(candidate, attempt))?.finding;
    const wait = waitForFinding(isOpen(found) ? found : NOT_ASKED, waitedMs, now);
    return { ...wait, reason: `${attempt.provider} ${attempt.reference}: ${wait.reason}` };
  });
  return shortestOf(waits);
}

const NOT_ASKED: OpenFinding = { type: 'UNKNOWN', reason: 'not asked yet' };

function isOpen(finding: AttemptFinding['finding'] | undefined): finding is OpenFinding {
  return finding !== undefined && finding.type !== 'PAID' && finding.type !== 'CLOSED';
}
