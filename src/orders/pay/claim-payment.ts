import { type Booking, type Money } from './book-money';
import { type HandleUnmatched } from '../unmatched/handle-unmatched';
import { unmatchedMoney } from './money-of';
import { type LockedOrderContext } from '../order-transaction';
import { type OrderStore } from '../sql/order-store';
import { type UnmatchedReason } from '../unmatched/unmatched-money';
import { type LockedOrder } from '../order';
import { isSameAttempt, type PaymentAttempt } from '../payment-attempt';
import { type ReportedPayment } from './reported-payment';
import { type ActionContext } from '../transition-cause';

/** A payment that was reported for a locked order. */
export interface Claim {
  readonly locked: LockedOrderContext;
  readonly payment: ReportedPayment;
  readonly money: Money;
  readonly by: ActionContext;
}

type Store = Pick<OrderStore, 'samePayments' | 'closeUnmatched' | 'keepUnmatched'>;

/**
 * Decides whether a payment belongs to the order that it was reported for. If not, keeps it as an unmatched payment.
 */
export class ClaimPayment {
  constructor(
    private readonly store: Store,
    private readonly unmatched: Pick<HandleUnmatched, 'handlingOfPart'>,
  ) {}

  /** Returns false if the payment belongs to another order. */
  async execute(claim: Claim, { wasBooked }: Booking): Promise<boolean> {
    const { locked, money } = claim;
    const same = await this.store.samePayments(locked.tx, [money]);
    const others = same.attempts.filter(({ orderId }) => orderId !== locked.order.id);
    if (money.source === 'provider') await this.store.closeUnmatched(locked.tx, same.unmatched);
    const decision = decideClaim(locked.order, money, others, wasBooked);
    if (decision === 'disputed') await this.keep(claim, 'attempt-mismatch');
    return decision !== 'refused';
  }

  /** Keeps the money for a person to decide, and reports it. */
  keep({ locked, payment, money, by }: Claim, reason: UnmatchedReason): Promise<void> {
    const { tx, order, now } = locked;
    const isPart = reason === 'amount-mismatch' || reason === 'currency-mismatch';
    const handling = isPart ? this.unmatched.handlingOfPart(order) : 'kept';
    return this.store.keepUnmatched(tx, [{ ...unmatchedMoney(payment, money, reason, by, now), handling }]);
  }
}

/** `disputed`: the order takes the payment, and a person is told that another order counts on it, too. */
export type ClaimDecision = 'taken' | 'disputed' | 'refused';

/**
 * Pure: decides whether an order takes a payment. It does not if another order has the attempt or counts on the same
 * payment. The provider's statement about an attempt that was registered for this order outweighs a report for another
 * order. A person is told, and neither payment is refunded automatically.
 *
 * @param others what other orders have under the names of this payment.
 */
export function decideClaim(
  order: LockedOrder,
  money: Money,
  others: readonly PaymentAttempt[],
  wasBooked: boolean,
): ClaimDecision {
  if (others.length === 0 || wasBooked) return 'taken';
  const known = order.attempts.some((attempt) => attempt.registered && isSameAttempt(attempt, money));
  const isOutweighed = others.every(({ registered, paidSource }) => !registered && paidSource !== 'provider');
  return known && isOutweighed && money.source === 'provider' ? 'disputed' : 'refused';
}
