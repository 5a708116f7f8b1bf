import { assertNever } from '../errors';
import { moneyReceived } from './money-received';
import { type LockedOrder } from './order';
import { isBooked, isSameAttempt, type PaymentAttempt } from './payment-attempt';

/** What a reported payment means for its order. */
export type PaymentDecision =
  | { readonly type: 'pay'; readonly surplus: readonly PaymentAttempt[] }
  | { readonly type: 'already-paid' }
  /** The order is paid by another attempt. */
  | { readonly type: 'surplus' }
  /** The order was closed or cancelled before the report. */
  | { readonly type: 'late' }
  | { readonly type: 'insufficient'; readonly reason: 'amount-mismatch' | 'currency-mismatch' };

/** Pure. `before` is the locked order, `paid` the attempt as the report describes it. */
export function decidePayment(before: LockedOrder, paid: PaymentAttempt): PaymentDecision {
  const wasBooked = before.attempts.some((attempt) => isSameAttempt(attempt, paid) && isBooked(attempt));
  switch (before.status) {
    case 'PAID':
      return { type: wasBooked ? 'already-paid' : 'surplus' };
    case 'CLOSED':
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return { type: 'late' };
    case 'PENDING':
    case 'CLOSING':
      return decideOpen(wasBooked ? before : withPaid(before, paid));
    default:
      return assertNever(before.status);
  }
}

/** The order with this payment booked on its attempt, registered before or not. */
export function withPaid(order: LockedOrder, paid: PaymentAttempt): LockedOrder {
  const others = order.attempts.filter((attempt) => !isSameAttempt(attempt, paid));
  return { ...order, attempts: [...others, paid] };
}

function decideOpen(after: LockedOrder): PaymentDecision {
  const money = moneyReceived(after, after.attempts);
  switch (money.type) {
    case 'sufficient':
      return { type: 'pay', surplus: money.surplus };
    case 'insufficient':
      return { type: 'insufficient', reason: money.reason };
    case 'nothing':
      throw new Error(`order ${after.id}: a booked payment is not there`);
    default:
      return assertNever(money);
  }
}
