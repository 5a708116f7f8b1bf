import { Injectable } from '@nestjs/common';
import { ChangedMeanwhileError } from '../../database';
import { PaymentProviders } from '../../payments';
import { checkUnmatched } from '../input/check-input';
import { bookMoney, type Money, released } from '../model/money';
import {
  type LockedOrder,
  isUndecided,
  type PaymentAttempt,
  type OrderView,
  isBooked,
  isSameAttempt,
  isSamePayment,
  isSameRow,
  isUnconfirmed,
} from '../model/order';
import { MarkPaid, type MarkPaidResult, moneyOf } from '../pay/mark-paid';
import { isGivenUp, isMisreported, isToldOfOther, mayReassign, type SamePayments } from '../model/decide-claim';
import { accountOf } from '../model/new-order';
import { type LockedOrderContext, OrderTransaction, type Why } from '../sql/order-transaction';
import { OrderMerchants } from '../sql/order-rows';
import { type OperatorOptions, type ActionContext, byOperator } from '../model/transition';
import { LIMITS } from '../model/order-policies';
import { isHandled } from '../sql/handled-payments';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import {
  evidenceOfUnmatched,
  namesOf,
  reportOf,
  type UnmatchedPayment,
  UnmatchedRows,
  isOpen,
} from '../unmatched/unmatched-payment';
import { type UnmatchedHandling, type UnmatchedReason } from '../model/unmatched-money';

export interface UnmatchedAssignment {
  /** Id of the row in unmatched_payment. */
  readonly id: string;
  /** The order that was paid. */
  readonly orderId: string;
  readonly reason: string;
}

/** `booked`: the effect of the payment on the order, as a result of MarkPaid. */
export type AssignUnmatchedResult =
  | {
      readonly outcome: 'assigned';
      readonly booked: Exclude<MarkPaidResult['outcome'], 'unknown-order' | 'attempt-mismatch'>;
      readonly order: OrderView;
    }
  | { readonly outcome: 'already-assigned'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'UNMATCHED_PAYMENT_NOT_FOUND' }
  | ({ readonly outcome: 'rejected' } & AssignmentRefusal);

/**
 * Books an unmatched payment on the order that a person names. The usual rules apply: it pays the order, is late, or is
 * surplus. A report stays a report. Idempotent.
 */
@Injectable()
export class AssignUnmatched {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly rows: UnmatchedRows,
    private readonly markPaid: MarkPaid,
    private readonly found: NoteUnmatchedMoney,
    private readonly unmatched: HandleUnmatched,
    private readonly providers: PaymentProviders,
    private readonly merchants: OrderMerchants,
  ) {}

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: UnmatchedAssignment, { by, tx }: OperatorOptions = {}): Promise<AssignUnmatchedResult> {
    checkUnmatched('assignment', request);
    return this.transaction.withOrder<AssignUnmatchedResult>(request.orderId, tx, (locked) =>
      this.decide(locked, request, byOperator(by)),
    );
  }

  private async decide(
    locked: LockedOrderContext,
    { id, reason }: UnmatchedAssignment,
    by: ActionContext,
  ): Promise<AssignUnmatchedResult> {
    const { tx, order, now } = locked;
    const stored = await this.rows.find(tx, id);
    // In the order of every booking: first the names of the payment, then its rows.
    if (stored) await this.transaction.store.lockPayments(tx, [namesOf(stored)]);
    const payment = await this.rows.lock(tx, id);
    if (!payment) return { outcome: 'rejected', code: 'UNMATCHED_PAYMENT_NOT_FOUND' };
    const report = reportOf(payment, order.id);
    const told = moneyOf(report, accountOf(report, this.providers), payment.source, now);
    const { money } = bookMoney(order, { ...told, isAssigned: true });
    const same = await this.transaction.store.samePayments(tx, [money], order.id);
    const decision = decideAssignment(order, payment, money, same);
    if (decision.type === 'refuse') return { outcome: 'rejected', ...decision.refusal };
    if (decision.type === 'assign') {
      const others = same.attempts.filter(({ orderId }) => orderId !== order.id);
      const claims = others.filter((other) => isMisreported(other, money));
      const byReports = others.filter((other) => isNamedByReport(other, order, money));
      const named = isSecondOfOwn(order, payment) ? byReports : [...claims, ...byReports];
      const ids = named.map(({ orderId }) => orderId);
      if (await this.merchants.hasOther(tx, ids, order.merchantId))
        return { outcome: 'rejected', code: 'PAYMENT_TAKEN' };
      const given = [...claims, ...others.filter((other) => isGivenUp(other, money))];
      await this.giveUp(locked, given, { by, reason });
      const result = await this.assign(locked, payment, given, { by, reason });
      await this.tellLosers(locked, claims, by);
      return result;
    }
    return { outcome: 'already-assigned', order: await this.transaction.view(tx, order.id) };
  }

  /** An order that has the reference without confirmed money under it loses the attempt, and may close without it. */
  private async giveUp(
    { tx, order: { id: to } }: LockedOrderContext,
    given: readonly PaymentAttempt[],
    why: Why,
  ): Promise<void> {
    if (given.length === 0) return;
    const { store } = this.transaction;
    const losers = [...new Set(given.map(({ orderId }) => orderId))];
    const { orders } = await store.lock(tx, losers, 'wait');
    const claims = given.filter(isBooked).map((claim) => releasedNow(orders, claim));
    await store.writeAttempts(
      tx,
      claims.map((attempt) => ({ attempt, evidence: { reason: why.reason } })),
    );
    await store.moveAttempts(tx, given, to);
    for (const order of orders.values()) {
      const own = given.filter(({ orderId }) => orderId === order.id);
      const lost = own.map(({ provider, reference }) => ({ provider, reference }));
      await this.transaction.amend(tx, order, {}, { ...why, evidence: { lost, to } });
      if (isUndecided(order.status)) await store.decideNow(tx, order.id);
    }
  }

  /** Of two payments of an order that lost one, the other is needed now. Last, because it may lock stock. */
  private async tellLosers(
    { tx, now }: LockedOrderContext,
    claims: readonly PaymentAttempt[],
    by: ActionContext,
  ): Promise<void> {
    if (claims.length === 0) return;
    await this.found.contest(claims, { tx, by, now });
    const losers = [...new Set(claims.map(({ orderId }) => orderId))];
    const { orders } = await this.transaction.store.lock(tx, losers, 'wait');
    for (const order of orders.values())
      if (!isUndecided(order.status)) await this.unmatched.execute(order, { tx, by, now });
  }

  private async assign(
    { tx, order }: LockedOrderContext,
    payment: UnmatchedPayment,
    given: readonly PaymentAttempt[],
    why: Why,
  ): Promise<AssignUnmatchedResult> {
    const parties = [order.id, ...given.map(({ orderId }) => orderId)];
    const twins = await this.rows.twins(tx, payment.id, 'kept');
    const told = twins.filter(({ orderId }) => orderId !== null && parties.includes(orderId));
    for (const { id } of [payment, ...told]) await this.rows.resolve(tx, id, 'adopted', why);
    await this.transaction.amend(tx, order, {}, { ...why, evidence: evidenceOfUnmatched(payment) });
    const { source } = payment;
    const result = await this.markPaid.assign(reportOf(payment, order.id), why.by, { source, tx });
    if (result.outcome === 'unknown-order' || result.outcome === 'attempt-mismatch') {
      throw new ChangedMeanwhileError(`another order has registered or booked the payment ${payment.reference}`);
    }
    return { outcome: 'assigned', booked: result.outcome, order: result.order };
  }
}

/** The claim without its money. It was read before its order was locked, so a person may have settled it since. */
function releasedNow(orders: ReadonlyMap<string, LockedOrder>, claim: PaymentAttempt): PaymentAttempt {
  const order = orders.get(claim.orderId);
  const held = order?.attempts.find((one) => isSameRow(one, claim));
  if (!order || !held || !isUnconfirmed(held))
    throw new ChangedMeanwhileError(`order ${claim.orderId} has the payment ${claim.reference} otherwise than before`);
  return released(order.status, held);
}

/**
 * Whether a report names an attempt of another order, by any of its names. Its merchant may have made it up, and may assign
 * it, but must not take the payment of another merchant by that, even if that is only reported, too. Who registered the
 * reference may assign it, whatever others claim.
 */
function isNamedByReport(other: PaymentAttempt, { attempts }: LockedOrder, money: Money): boolean {
  if (money.source !== 'report') return false;
  const { provider, reference } = money;
  const isOwn = attempts.some((one) => one.registered && one.provider === provider && one.reference === reference);
  const isOnlyClaimed = other.transactionId === reference || (!other.registered && other.reference === reference);
  return !(isOwn && isOnlyClaimed);
}

/**
 * Whether the provider has told the payment under a reference that the order registered. That outranks the report of any
 * merchant.
 */
function isSecondOfOwn({ attempts }: LockedOrder, payment: UnmatchedPayment): boolean {
  const { reference } = payment.evidence;
  if (payment.source !== 'provider' || typeof reference !== 'string') return false;
  return attempts.some((one) => one.registered && isSameAttempt(one, { ...namesOf(payment), reference }));
}

/** Why an unmatched payment cannot be booked on an order. */
type AssignmentRefusal =
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

type AssignmentDecision =
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
  { attempts, unowned, handled }: SamePayments,
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
  const mayLose = [mayReassign, isGivenUp, isMisreported];
  const isTaken = others.some((other) => !mayLose.some((loses) => loses(other, money)));
  if (isTaken || isToldOfOther(order, money, { unowned })) return refuse({ code: 'PAYMENT_TAKEN' });
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
