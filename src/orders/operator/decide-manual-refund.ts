import { assertNever } from '../../errors';
import { moneyReceived } from '../pay/money-received';
import { type LockedOrder } from '../order';
import { type OrderStatus } from '../order-status';
import { isBooked, isSamePayment, isUnconfirmed, type PaymentAttempt, type PaymentNames } from '../payment-attempt';

/** Why a payment cannot be refunded manually. */
export type ManualRefundRefusal =
  | { readonly code: 'PAYMENT_NOT_FOUND' }
  /** Only a report vouches for it. */
  | { readonly code: 'PAYMENT_NOT_CONFIRMED' }
  /** The order is paid by it. */
  | { readonly code: 'PAYMENT_NEEDED'; readonly status: OrderStatus }
  /** A person has dealt with it, and may have paid it back. */
  | { readonly code: 'UNMATCHED_PAYMENT_HANDLED'; readonly handling: 'settled' };

export type ManualRefundDecision =
  | { readonly type: 'refund'; readonly attempt: PaymentAttempt }
  /** The refund is in progress or done. */
  | { readonly type: 'refunding' | 'refunded' }
  | { readonly type: 'refuse'; readonly refusal: ManualRefundRefusal };

/** The payment of an order that has one of these names. */
export function findPayment(
  { attempts }: Pick<LockedOrder, 'attempts'>,
  names: PaymentNames,
): PaymentAttempt | undefined {
  return attempts.find((attempt) => isBooked(attempt) && isSamePayment(attempt, names));
}

/** Pure: decides whether an operator may refund this payment of a locked order. */
export function decideManualRefund(order: LockedOrder, names: PaymentNames): ManualRefundDecision {
  const attempt = findPayment(order, names);
  if (!attempt) return refuse({ code: 'PAYMENT_NOT_FOUND' });
  if (attempt.status === 'REFUNDING') return { type: 'refunding' };
  if (attempt.status === 'REFUNDED') return { type: 'refunded' };
  if (attempt.status === 'SETTLED') return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  if (isNeeded(order, attempt)) return refuse({ code: 'PAYMENT_NEEDED', status: order.status });
  return isUnconfirmed(attempt) ? refuse({ code: 'PAYMENT_NOT_CONFIRMED' }) : { type: 'refund', attempt };
}

function refuse(refusal: ManualRefundRefusal): ManualRefundDecision {
  return { type: 'refuse', refusal };
}

function isNeeded(order: LockedOrder, attempt: PaymentAttempt): boolean {
  switch (order.status) {
    case 'PAID': {
      // The payments that pay the order must be certain before another one is refunded as surplus.
      const others = order.attempts.filter((other) => other !== attempt && !isUnconfirmed(other));
      return moneyReceived(order, others).type !== 'sufficient';
    }
    case 'PENDING':
    case 'CLOSING':
      // With enough money, the order is about to be paid.
      return moneyReceived(order, order.attempts).type === 'sufficient';
    case 'CLOSED':
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return false;
    default:
      return assertNever(order.status);
  }
}
