import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import {
  isBooked,
  type LockedOrder,
  type PaidSource,
  isUndecided,
  canTakeMoney,
  type OrderView,
  type PaymentAttempt,
} from '../model/order';
import { type LockedOrderContext, applyStep, OrderTransaction, writeBooking } from '../sql/order-transaction';
import { isHandled, isOthersToo, isSettledBefore, wasHadBy } from '../sql/handled-payments';
import {
  type SamePayments,
  unownedOf,
  vouchedBy,
  vouchedByBoth,
  decideClaim,
  isAnyones,
  isToldOfOther,
  othersWith,
  toldAs,
  namesOfMoney,
} from '../model/decide-claim';
import { OrderStore } from '../sql/order-store';
import { type PartReason, type UnmatchedReason, type UnmatchedMoney } from '../model/unmatched-money';
import { type ActionContext, transition, type ActionOptions, contextOf } from '../model/transition';
import { type Booking, bookMoney, type Money, moneyReceived, reasonOfPart } from '../model/money';
import { type ReportedPayment, evidenceOf, accountIn } from '../model/reported-payment';
import { accountOf } from '../model/new-order';
import { allTimeouts } from '../model/order-timeouts';
import { assertNever } from '../../errors';
import { PaymentProviders } from '../../payments';
import { ChangedMeanwhileError, isContention, type Transaction } from '../../database';
import { checkReportedPayment } from '../input/check-input';
import { PaymentWatch } from '../unmatched/payment-watch';

export interface Claim {
  readonly locked: LockedOrderContext;
  readonly payment: ReportedPayment;
  readonly money: Money;
  readonly by: ActionContext;
}

/** Decides whether a payment belongs to the order that it was reported for. If not, keeps it for a person. */
@Injectable()
export class ClaimPayment {
  constructor(
    private readonly store: OrderStore,
    private readonly unmatched: HandleUnmatched,
    private readonly found: NoteUnmatchedMoney,
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
    if (isKnown && order.isErased && wasHadBy(order.id, same.handled, money)) return 'repeated';
    const isSettled = isKnown && isSettledBefore(same.handled, money);
    if (isKnown && !isSettled) return 'refused';
    const decision = decideClaim(order, money, same, booking.wasBooked);
    if (decision === 'refused') return 'refused';
    if (money.source === 'provider' && !isSettled)
      await this.store.closeUnmatched(tx, unownedOf(money, same), [order.id]);
    if (decision === 'outranks' && money.isAssigned) {
      await this.found.contest(othersWith(order, money, same).filter(isBooked), { tx, by, now });
    } else if (isOthersToo(decision, booking, same.handled, isSettled)) {
      await this.keep(claim, 'attempt-mismatch');
    }
    await this.found.tellOfSettled(order, booking.after, { tx, by, now });
    if (!isSettled) return 'ours';
    // Told again only if what was settled was another amount, or a mere report.
    await this.keep(claim, 'unknown-order');
    return 'settled';
  }

  /** Keeps the money for a person to decide, and reports it. */
  keep(
    { locked, payment, money, by }: Claim,
    reason: UnmatchedReason,
    orderId: string | null = payment.orderId,
  ): Promise<void> {
    const { tx, order, now } = locked;
    const handling = this.unmatched.handlingOf(reason, order);
    return this.store.keepUnmatched(tx, [{ ...unmatchedMoney(payment, money, reason, by, now), handling, orderId }]);
  }
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

interface Report extends Claim {
  readonly verified: boolean;
  readonly handlesUnmatchedLater: boolean;
  readonly waitsForStock: boolean;
}

interface Booked extends Partial<Confirmation> {
  readonly source: PaidSource;
  readonly isAssigned?: boolean;
  /** True: books the money and leaves the order to its timeout, which is due immediately. */
  readonly waitsForStock?: boolean;
}

/** Books payments. It never drops reported money, whatever the state of its order. */
@Injectable()
export class MarkPaid {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly claims: ClaimPayment,
    private readonly unmatched: HandleUnmatched,
    private readonly watch: PaymentWatch,
    private readonly providers: PaymentProviders,
  ) {}

  /**
   * Books a payment that the caller reports. It pays the order, but it is looked up at the provider before it is
   * refunded, and money of an attempt that was not registered is never refunded without a person.
   *
   * @throws InvalidOrderError if the payment is invalid.
   */
  execute(payment: ReportedPayment, { by, tx }: ActionOptions = {}): Promise<MarkPaidResult> {
    return this.book(payment, contextOf(by), { source: 'report', tx });
  }

  /**
   * Books a payment that the provider confirms, in a verified notification or a response. It replaces a report.
   *
   * @internal
   */
  confirm(payment: ReportedPayment, by: ActionContext, how: Confirmation): Promise<MarkPaidResult> {
    return this.book(payment, by, { ...how, source: 'provider' });
  }

  /**
   * Books an unmatched payment that an operator assigns to the order, with the trust of its original source. It counts
   * as registered, so it may be refunded later like any other payment of the order.
   *
   * @internal
   */
  assign(
    payment: ReportedPayment,
    by: ActionContext,
    { source, tx }: { source: PaidSource; tx: EntityManager },
  ): Promise<MarkPaidResult> {
    return this.book(payment, by, { source, tx, isAssigned: true });
  }

  /**
   * Another session may hold the stock beyond the deadline. The payment is then booked without it: the closing needs
   * the same stock, and must find the money when it gets the stock.
   */
  private async book(payment: ReportedPayment, by: ActionContext, how: Booked): Promise<MarkPaidResult> {
    checkReportedPayment(payment);
    try {
      return await this.bookOnce(payment, by, how);
    } catch (error) {
      if (how.tx || !isContention(error)) throw error;
      return this.bookOnce(payment, by, { ...how, waitsForStock: true });
    }
  }

  private bookOnce(payment: ReportedPayment, by: ActionContext, how: Booked): Promise<MarkPaidResult> {
    const account = how.account === undefined ? accountOf(payment, this.providers) : how.account;
    return this.transaction.withOrderOr<MarkPaidResult>(
      payment.orderId,
      how.tx,
      (locked) => {
        const known = how.account === undefined ? accountIn(locked.order, payment, account) : account;
        const told = moneyOf(payment, known, how.source, locked.now);
        const money = { ...told, isAssigned: how.isAssigned ?? false };
        const { verified = false, handlesUnmatchedLater = false, waitsForStock = false } = how;
        return this.bookOn({ locked, payment, money, by, verified, handlesUnmatchedLater, waitsForStock });
      },
      async (tx, now) => {
        const money = moneyOf(payment, account, how.source, now);
        await this.transaction.store.lockPayments(tx, [money]);
        // Nobody may give away the payment of another order because its number was mistyped.
        const order = { id: payment.orderId };
        const same = await this.transaction.store.samePayments(tx, [money], order.id);
        const isTaken = othersWith(order, money, same).length > 0 || isToldOfOther(order, money, same);
        const reason = isTaken ? 'attempt-mismatch' : 'unknown-order';
        const { reference } = toldAs(money, same.unowned) ?? money;
        const kept = unmatchedMoney(payment, { ...money, reference }, reason, by, now);
        await this.transaction.store.keepUnmatched(tx, [kept]);
        return { outcome: 'unknown-order' };
      },
    );
  }

  private async bookOn(reported: Report): Promise<MarkPaidResult> {
    const { tx, order } = reported.locked;
    const first = bookMoney(order, reported.money);
    const told = { ...reported, money: first.money };
    const found = await this.transaction.store.samePaymentsLocked(
      tx,
      namesOfMoney(reported.money, told.money),
      order.id,
    );
    // What the order has as settled stays shown to a person.
    const same = first.holder.status === 'SETTLED' ? { ...found, unowned: [] } : found;
    const own = vouchedByBoth(order, told.money, same);
    if (own) return this.bookOn({ ...reported, money: own });
    const claim = await this.claims.execute(told, first, same);
    if (claim === 'repeated') {
      const outcome = order.status === 'PAID' ? 'already-paid' : 'late';
      return { outcome, order: await this.transaction.view(tx, order.id) };
    }
    const vouched = claim === 'ours' ? vouchedBy(order, told.money, same) : undefined;
    // It has names of its own, by which more is known of it.
    if (vouched) return this.bookOn({ ...reported, money: vouched });
    const booking = claim === 'settled' ? bookMoney(order, { ...told.money, isSettled: true }) : first;
    const outcome = claim === 'refused' ? 'attempt-mismatch' : await this.write(told, booking);
    // Under the account of the attempt's row, as everything else about that attempt is.
    const held = { ...told, money: { ...told.money, merchantAccount: booking.holder.merchantAccount } };
    if (claim === 'refused' && isAnyones(order, told.money)) await this.claims.keep(reported, 'unknown-order', null);
    else if (claim === 'refused' || booking.isDisputed) await this.claims.keep(held, 'attempt-mismatch');
    // Money that is settled, or goes back, is no part of the price.
    const isHeld = booking.holder.status === 'PAID';
    if (isHeld && (outcome === 'amount-mismatch' || outcome === 'currency-mismatch')) {
      await this.claims.keep({ ...held, money: { ...held.money, ...heldBy(booking) } }, outcome);
    }
    return { outcome, order: await this.transaction.view(tx, order.id) };
  }

  private async write(
    report: Report,
    booking: Booking,
  ): Promise<Exclude<MarkPaidResult['outcome'], 'unknown-order' | 'attempt-mismatch'>> {
    const { locked, payment, by } = report;
    const { tx, now, order } = locked;
    if (!(await writeBooking(tx, this.transaction.store, booking, evidenceOf(payment)))) {
      throw new ChangedMeanwhileError(
        `attempt ${payment.reference} of ${payment.provider} was registered for another order`,
      );
    }
    // An attempt that a report had confused may be open at its provider.
    const isReleased = booking.released.length > 0 && !isUndecided(order.status);
    if (isReleased) await this.watch.begin(tx, [booking.after], now, by.traceparent);
    const decision = decidePayment(booking);
    switch (decision.type) {
      case 'pay':
        return this.pay(report, booking.after);
      case 'insufficient':
        if (booking.changed.length > 0) await this.decideAnew(report);
        await this.handleUnmatched(booking.after, report);
        return decision.reason;
      case 'already-paid':
      case 'surplus':
      case 'late':
        await this.handleUnmatched(booking.after, report);
        return decision.type;
      case 'rest':
        await this.handleUnmatched(booking.after, report);
        return 'paid';
      default:
        return assertNever(decision);
    }
  }

  /** The closing may have been parked because this payment was not confirmed. */
  private async decideAnew({ locked: { tx, order }, money }: Report): Promise<void> {
    if (order.status !== 'CLOSING' || money.source !== 'provider') return;
    await this.transaction.store.decideNow(tx, order.id);
  }

  private async handleUnmatched(
    order: LockedOrder,
    { locked, by, verified, handlesUnmatchedLater }: Report,
    isNews = false,
  ): Promise<void> {
    const context = { tx: locked.tx, by, now: locked.now, verified };
    if (!handlesUnmatchedLater) await this.unmatched.execute(order, context, isNews);
  }

  private async pay(report: Report, after: LockedOrder): Promise<'paid' | 'booked'> {
    const { locked, payment, by } = report;
    const { tx, order, now } = locked;
    const { scheduler, store } = this.transaction;
    if (report.waitsForStock) {
      await store.decideNow(tx, order.id);
      return 'booked';
    }
    const stillOpen = after.attempts.some(canTakeMoney);
    // The pipeline closes attempts that are still open, or the buyer could pay twice.
    const [close, ...reminders] = allTimeouts(order);
    await scheduler.cancel(stillOpen ? reminders : allTimeouts(order), { tx });
    if (stillOpen && close) await store.decideNow(tx, order.id);
    const step = transition(order, 'PAID', { by, now, reason: 'reported', evidence: evidenceOf(payment) });
    await applyStep(store, tx, step);
    const paid: LockedOrder = { ...after, status: 'PAID', version: order.version + 1 };
    await this.handleUnmatched(paid, report, true);
    if (!stillOpen) await this.watch.begin(tx, [paid], now, by.traceparent);
    return 'paid';
  }
}

/** What the order has, which neither a dispute about the amount nor another name of the payment changes. */
function heldBy({ holder, money }: Booking): Omit<Money, 'paidAt' | 'source'> {
  const { provider, reference, merchantAccount, transactionId, paidAmount, paidCurrency } = holder;
  const names = { provider, reference, merchantAccount, transactionId };
  return { ...names, amount: paidAmount ?? money.amount, currency: paidCurrency ?? money.currency };
}

/** Nobody reports such payments for an order. */
type NotOfReports =
  'unknown-order' | 'refund-failed' | 'excess-refund-failed' | 'chargeback' | 'invalid-amount' | 'overpaid';

/**
 * The result of a reported payment.
 * - `paid`: the payment is booked, and the order is PAID.
 * - `already-paid`: the same payment was booked before, and the order is PAID.
 * - `booked`: another session holds the order's stock. The payment is stored, and the order becomes PAID automatically
 *   when the stock is free. It is not closed before that.
 * - `late`: the order was closed before. By policy, the order is revived, or the money is refunded or kept.
 * - `surplus`: the order is paid twice, by another attempt. The money is refunded or kept.
 * - `amount-mismatch`, `currency-mismatch`: booked on the attempt, but it does not pay the order. Also if all money of
 *   an open order goes back, or a person has settled it; this is stored no second time.
 * - `attempt-mismatch`: the attempt, or the same payment under another name, belongs to another order.
 * - `unknown-order`: there is no such order.
 *
 * All except `paid`, `booked`, and `already-paid` are stored in unmatched_payment and reported as `order.payment_late`. So
 * is another amount of a payment that is booked, whatever the outcome.
 */
export type MarkPaidResult =
  | {
      readonly outcome: 'paid' | 'booked' | 'already-paid' | Exclude<UnmatchedReason, NotOfReports>;
      readonly order: OrderView;
    }
  | { readonly outcome: 'unknown-order' };

type PaymentDecision =
  | { readonly type: 'pay'; readonly surplus: readonly PaymentAttempt[] }
  | { readonly type: 'already-paid' }
  | { readonly type: 'surplus' }
  /** The order was PAID with too little, because an earlier report was wrong, and has enough by this payment. */
  | { readonly type: 'rest' }
  /** The order was closed or canceled before the payment was reported. */
  | { readonly type: 'late' }
  /** Too little, or in another currency. For a PAID order: an earlier report was too high. */
  | { readonly type: 'insufficient'; readonly reason: PartReason };

export function decidePayment({
  after,
  wasBooked,
  holder,
}: Pick<Booking, 'after' | 'wasBooked' | 'holder'>): PaymentDecision {
  switch (after.status) {
    case 'PAID':
      return decidePaid(after, wasBooked, holder);
    case 'CLOSED':
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return { type: 'late' };
    case 'PENDING':
    case 'CLOSING':
      return decideOpen(after, holder);
    default:
      return assertNever(after.status);
  }
}

function decidePaid(after: LockedOrder, wasBooked: boolean, holder: PaymentAttempt): PaymentDecision {
  const money = moneyReceived(after, after.attempts);
  if (money.type === 'insufficient') return { type: 'insufficient', reason: reasonOfPart(after, holder) };
  if (wasBooked) return { type: 'already-paid' };
  const others = after.attempts.filter((one) => one !== holder);
  return { type: moneyReceived(after, others).type === 'sufficient' ? 'surplus' : 'rest' };
}

function decideOpen(after: LockedOrder, holder: PaymentAttempt): PaymentDecision {
  const money = moneyReceived(after, after.attempts);
  switch (money.type) {
    case 'sufficient':
      return { type: 'pay', surplus: money.surplus };
    case 'insufficient':
      return { type: 'insufficient', reason: reasonOfPart(after, holder) };
    case 'nothing':
      // All money that arrived goes back, or is settled.
      return { type: 'insufficient', reason: 'amount-mismatch' };
    default:
      return assertNever(money);
  }
}

interface Confirmation {
  readonly tx?: Transaction | undefined;
  /** The merchant account of the attempt that was looked up; null: none. */
  readonly account: string | null;
  /** The order's attempts were looked up just now; see LockedContext. @default false */
  readonly verified?: boolean;
  /** The caller books more payments of the order and calls HandleUnmatched once for all of them. @default false */
  readonly handlesUnmatchedLater?: boolean;
}
