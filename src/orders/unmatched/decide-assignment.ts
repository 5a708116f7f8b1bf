import { bookMoney, type Money } from '../pay/book-money';
import { isGivenUp, mayReassign } from '../pay/decide-claim';
import { LIMITS } from '../limits';
import { type LockedOrder } from '../order';
import { type UnmatchedHandling, type UnmatchedReason } from './unmatched-money';
import { isBooked, isSamePayment } from '../payment-attempt';
import { type SamePayments } from '../sql/find-same-payments';
import { isHandled } from '../sql/handled-payments';
import { isOpen, type UnmatchedPayment } from './unmatched-payment';

/** Why an unmatched payment cannot be booked on an order. */
export type AssignmentRefusal =
  /** It belongs to an order already, which does not need it. */
  | { readonly code: 'UNMATCHED_PAYMENT_HAS_ORDER'; readonly unmatchedReason: UnmatchedReason }
  | { readonly code: 'UNMATCHED_PAYMENT_HANDLED'; readonly handling: UnmatchedHandling }
  /** Another order has the same payment, and the provider confirms that, or has an attempt which may be paid for it. */
  | { readonly code: 'PAYMENT_TAKEN' }
  /** The order cannot take this amount or currency. */
  | {
      readonly code: 'PAYMENT_NOT_BOOKABLE';
      readonly amount: number;
      readonly currency: string;
      readonly orderCurrency: string;
    }
  /** The order has this payment already, with another amount and from an equally or more trusted source. */
  | { readonly code: 'PAYMENT_DISPUTED'; readonly paidAmount: number; readonly paidCurrency: string };

export type AssignmentDecision =
  | { readonly type: 'assign' }
  | { readonly type: 'already-assigned' }
  | { readonly type: 'refuse'; readonly refusal: AssignmentRefusal };

const ASSIGNABLE: readonly UnmatchedReason[] = ['unknown-order', 'attempt-mismatch', 'invalid-amount'];

/**
 * Pure: decides whether this payment may be booked on this order.
 *
 * @param money the payment under the name by which the order would book it.
 * @param same everything that is known about the payment.
 */
export function decideAssignment(
  order: LockedOrder,
  payment: UnmatchedPayment,
  money: Money,
  { attempts, handled }: Pick<SamePayments, 'attempts' | 'handled'>,
): AssignmentDecision {
  const { reason, handling, amount, currency } = payment;
  if (!ASSIGNABLE.includes(reason)) {
    return refuse({ code: 'UNMATCHED_PAYMENT_HAS_ORDER', unmatchedReason: reason });
  }
  const holder = order.attempts.find((attempt) => isBooked(attempt) && isSamePayment(attempt, money));
  // Adopted by the first transaction that locked the order, but without a person's decision.
  if (handling === 'adopted' && holder) return { type: holder.registered ? 'already-assigned' : 'assign' };
  if (!isOpen(payment)) return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling });
  // Only reopening ends a settlement.
  if (holder?.status === 'SETTLED') return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  if (!holder && isHandled(handled, money)) {
    const isSettled = handled.some(({ fate }) => fate === 'settled');
    return refuse(isSettled ? { code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' } : { code: 'PAYMENT_TAKEN' });
  }
  const others = attempts.filter(({ orderId }) => orderId !== order.id);
  if (others.some((other) => !mayReassign(other, money) && !isGivenUp(other, money)))
    return refuse({ code: 'PAYMENT_TAKEN' });
  if (currency !== order.currency || amount < 1 || amount > LIMITS.money) {
    return refuse({ code: 'PAYMENT_NOT_BOOKABLE', amount, currency, orderCurrency: order.currency });
  }
  const { isDisputed, holder: booked } = bookMoney(order, money);
  if (!isDisputed) return { type: 'assign' };
  const { paidAmount, paidCurrency } = booked;
  const has = { paidAmount: Number(paidAmount ?? 0n), paidCurrency: paidCurrency ?? order.currency };
  return refuse({ code: 'PAYMENT_DISPUTED', ...has });
}

function refuse(refusal: AssignmentRefusal): AssignmentDecision {
  return { type: 'refuse', refusal };
}
