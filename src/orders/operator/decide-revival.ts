import { moneyReceived } from '../pay/money-received';
import { type LockedOrder } from '../order';
import { type OrderStatus } from '../order-status';
import { isSamePayment, type PaymentAttempt, type PaymentNames } from '../payment-attempt';

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
 * @param settled payments of the order that a person has settled.
 */
export function decideRevival(
  order: LockedOrder,
  disputed: readonly PaymentAttempt[],
  settled: readonly PaymentNames[],
): RevivalDecision {
  if (order.status === 'PAID') return { type: 'already-paid' };
  if (order.status !== 'CLOSED') return refuse({ code: 'ORDER_NOT_REVIVABLE', status: order.status });
  const isEnough = (attempts: readonly PaymentAttempt[]): boolean =>
    moneyReceived(order, attempts).type === 'sufficient';
  const attempts = order.attempts.filter((attempt) => attempt.status === 'PAID' && !disputed.includes(attempt));
  const left = attempts.filter((attempt) => !settled.some((payment) => isSamePayment(attempt, payment)));
  if (isEnough(left)) return { type: 'revive', attempts: left };
  if (isEnough(attempts)) return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  return refuse({ code: isEnough(order.attempts) ? 'PAYMENT_TAKEN' : 'PAYMENT_INSUFFICIENT' });
}

function refuse(refusal: RevivalRefusal): RevivalDecision {
  return { type: 'refuse', refusal };
}
