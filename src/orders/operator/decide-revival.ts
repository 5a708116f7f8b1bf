import { moneyReceived } from '../pay/money-received';
import { type LockedOrder } from '../order';
import { type OrderStatus } from '../order-status';
import { type PaymentAttempt } from '../payment-attempt';

/** Why an order cannot be revived, whatever is in stock. */
export type RevivalRefusal =
  | { readonly code: 'ORDER_NOT_REVIVABLE'; readonly status: OrderStatus }
  /** Its payments do not pay it. `PAYMENT_TAKEN`: they would, but another order counts on the same payment. */
  | { readonly code: 'PAYMENT_INSUFFICIENT' | 'PAYMENT_TAKEN' }
  /** They would, but a person has dealt with one of them, and may have given it back. */
  | { readonly code: 'UNMATCHED_PAYMENT_HANDLED'; readonly handling: 'settled' };

export type RevivalDecision =
  | { readonly type: 'revive'; readonly attempts: readonly PaymentAttempt[] }
  | { readonly type: 'already-paid' }
  | { readonly type: 'refuse'; readonly refusal: RevivalRefusal };

/**
 * Pure: decides whether a closed order is revived.
 *
 * @param disputed payments of the order that another order counts on, too.
 */
export function decideRevival(order: LockedOrder, disputed: readonly PaymentAttempt[]): RevivalDecision {
  if (order.status === 'PAID') return { type: 'already-paid' };
  if (order.status !== 'CLOSED') return refuse({ code: 'ORDER_NOT_REVIVABLE', status: order.status });
  const isEnough = (attempts: readonly PaymentAttempt[]): boolean =>
    moneyReceived(order, attempts).type === 'sufficient';
  const left = order.attempts.filter((attempt) => !disputed.includes(attempt));
  const attempts = left.filter(({ status }) => status === 'PAID');
  if (isEnough(attempts)) return { type: 'revive', attempts };
  if (isEnough(left.map(reopened))) return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  return refuse({ code: isEnough(order.attempts) ? 'PAYMENT_TAKEN' : 'PAYMENT_INSUFFICIENT' });
}

function reopened(attempt: PaymentAttempt): PaymentAttempt {
  return attempt.status === 'SETTLED' ? { ...attempt, status: 'PAID' } : attempt;
}

function refuse(refusal: RevivalRefusal): RevivalDecision {
  return { type: 'refuse', refusal };
}
