import { Injectable } from '@nestjs/common';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { isBooked, isClaim, type LockedOrder, type PaidSource } from '../model/order';
import { type LockedOrderContext } from '../sql/order-transaction';
import { isHandled, isSettledBefore, wasElsewhere } from '../sql/handled-payments';
import {
  type HandledPayment,
  type SamePayments,
  unownedMoney,
  unownedOf,
  decideClaim,
  isPaidBy,
  othersWith,
} from '../model/decide-claim';
import { OrderStore } from '../sql/order-store';
import { type UnmatchedReason, type UnmatchedMoney } from '../model/unmatched-money';
import { type ActionContext } from '../model/transition';
import { type Booking, bookMoney, type Money } from '../model/money';
import { type ReportedPayment, evidenceOf } from '../model/reported-payment';

/** A payment that was reported for a locked order. */
export interface Claim {
  readonly locked: LockedOrderContext;
  readonly payment: ReportedPayment;
  readonly money: Money;
  readonly by: ActionContext;
}

/**
 * Decides whether a payment belongs to the order that it was reported for. If not, keeps it as an unmatched payment.
 */
@Injectable()
export class ClaimPayment {
  constructor(
    private readonly store: OrderStore,
    private readonly unmatched: HandleUnmatched,
  ) {}

  /**
   * `refused`: the payment belongs to another order, or a person has settled it. `repeated`: the order had it before it was
   * erased. `settled`: a person had settled it before the order registered its attempt, which books it as such. Claims of
   * other orders end when this one is paid by it, or by a person's decision. Until then, a person is told of both.
   */
  async execute(
    claim: Claim,
    booking: Booking,
    same: SamePayments,
  ): Promise<'ours' | 'settled' | 'refused' | 'repeated'> {
    const { locked, money, by } = claim;
    const { tx, order, now } = locked;
    const isKnown = !booking.wasBooked && isHandled(same.handled, money);
    if (isKnown && isRepeatedFor(order, same.handled)) return 'repeated';
    const isSettled = isKnown && isSettledBefore(same.handled, money);
    if (isKnown && !isSettled) return 'refused';
    const decision = decideClaim(order, money, same, booking.wasBooked);
    if (decision === 'refused') return 'refused';
    if (money.source === 'provider' && !isSettled) await this.store.closeUnmatched(tx, unownedOf(money, same));
    const isOutranked = decision === 'outranks';
    if (isOutranked && money.isAssigned) {
      await this.unmatched.contest(othersWith(order, money, same).filter(isBooked), { tx, by, now });
    } else if (
      decision === 'disputed' ||
      (!isSettled && booking.holder.status !== 'SETTLED' && wasElsewhere(same.handled, money)) ||
      (isOutranked && (isSettled || !isRightful(booking)))
    ) {
      await this.keep(claim, 'attempt-mismatch');
    }
    await this.unmatched.tellOfSettled(order, booking.after, { tx, by, now });
    if (!isSettled) return 'ours';
    // Told again only if what was settled was another amount, or a mere report.
    await this.keep(claim, 'unknown-order');
    return 'settled';
  }

  /** Keeps the money for a person to decide, and reports it. */
  keep({ locked, payment, money, by }: Claim, reason: UnmatchedReason): Promise<void> {
    const { tx, order, now } = locked;
    const isPart = reason === 'amount-mismatch' || reason === 'currency-mismatch';
    const handling = isPart ? this.unmatched.handlingOfPart(order) : 'kept';
    return this.store.keepUnmatched(tx, [{ ...unmatchedMoney(payment, money, reason, by, now), handling }]);
  }
}

/**
 * Pure: the payment that a provider has confirmed before this report of it, for no order. Only if the report names it as
 * its reference: anyone may report any transaction id, and would make it that of an attempt which is registered. A report
 * never adds a second payment to an attempt.
 */
export function vouchedBy(
  order: LockedOrder,
  money: Money,
  { unowned }: Pick<SamePayments, 'unowned'>,
): Money | undefined {
  if (money.source !== 'report') return undefined;
  const told = unowned.find((one) => [one.reference, one.transactionId].includes(money.reference));
  if (!told) return undefined;
  const vouched = { ...unownedMoney(told, money.paidAt), isAssigned: money.isAssigned ?? false };
  const booking = bookMoney(order, vouched);
  // Two reports together would else do what one may not.
  const isNamed = [told.reference, told.transactionId].includes(booking.holder.reference);
  const isIts = vouched.isAssigned || (isNamed && !booking.holder.registered);
  return booking.money === vouched && isIts ? vouched : undefined;
}

/** Pure: whether the payment pays the order, which has registered it, so that what others claim is a mistake. */
export function isRightful({ after, holder }: Booking): boolean {
  return isPaidBy(after, holder) && !isClaim(holder);
}

function isRepeatedFor({ id, isErased }: LockedOrder, handled: readonly HandledPayment[]): boolean {
  return isErased === true && handled.some(({ orderId }) => orderId === id);
}

/** Converts a report to money. @param now the payment time if the report has none. */
export function moneyOf(
  payment: ReportedPayment,
  merchantAccount: string | null,
  source: PaidSource,
  now: Date,
): Money {
  const { provider, reference, amount, currency, paidAt = now, transactionId = null } = payment;
  return { provider, reference, merchantAccount, amount: BigInt(amount), currency, paidAt, transactionId, source };
}

/** Converts a report that its order does not accept to unmatched money. */
export function unmatchedMoney(
  payment: ReportedPayment,
  money: Money,
  reason: UnmatchedReason,
  { traceparent }: ActionContext,
  now: Date,
): UnmatchedMoney {
  const { provider, reference, merchantAccount, amount, currency, transactionId, source } = money;
  const { orderId } = payment;
  const what = { provider, reference, merchantAccount, amount, currency, transactionId, source, orderId };
  return { ...what, reason, handling: 'kept', evidence: evidenceOf(payment), now, traceparent };
}
