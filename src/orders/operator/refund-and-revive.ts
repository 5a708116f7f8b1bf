import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { PaymentProviders } from '../../payments';
import { assertNever } from '../../errors';
import { PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding } from '../model/findings';
import { checkRequest } from '../input/check-input';
import { isDue } from '../model/plan-closing';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { MarkPaid } from '../pay/mark-paid';
import { type LockedOrderContext, OrderTransaction, type Why } from '../sql/order-transaction';
import {
  type OrderStatus,
  type OrderView,
  accountOfAttempt,
  type AttemptKey,
  isUnconfirmed,
  paidAttempts,
  type PaymentAttempt,
  type PaymentNames,
  type LockedOrder,
  isBooked,
  isErasedAttempt,
  isSameAttempt,
  isSamePayment,
} from '../model/order';
import { accountOf } from '../model/new-order';
import { paymentFound } from '../model/reported-payment';
import {
  type LookUpOptions,
  type ActionContext,
  type Actor,
  byOperator,
  type OperatorOptions,
} from '../model/transition';
import { moneyReceived } from '../model/money';
import { type StockShortage } from '../../inventory';

/** One provider time-out (5 s) and a reserve, because a person waits for this response. */
const PATIENCE_MS = 8_000;

/** Which payment to refund, by any of its names. */
export interface ManualRefund {
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  readonly merchantAccount?: string | undefined;
  readonly reason: string;
}

type Named = Pick<AttemptKey, 'provider' | 'reference'>;

/** `refunding`: the refund is in progress, perhaps since before · `refunded`: the buyer has the money. */
export type RefundPaymentResult =
  | { readonly outcome: 'refunding' | 'refunded'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  /** `PAYMENT_TAKEN`: another order counts on the same payment. */
  | ({ readonly outcome: 'rejected'; readonly code: 'PAYMENT_NOT_FOUND' | 'PAYMENT_TAKEN' } & Named)
  /** Its reference was erased with the personal data of the order, so only its provider's console can refund it. */
  | ({ readonly outcome: 'rejected'; readonly code: 'PAYMENT_ERASED' } & Named)
  /** Without it, the order would not be paid. */
  | ({ readonly outcome: 'rejected'; readonly code: 'PAYMENT_NEEDED'; readonly status: OrderStatus } & Named)
  /** A person has settled it. Reopen it first. */
  | ({
      readonly outcome: 'rejected';
      readonly code: 'UNMATCHED_PAYMENT_HANDLED';
      readonly handling: 'settled';
    } & Named)
  /** Only a report vouches for it. `says`: what its provider says. */
  | ({ readonly outcome: 'rejected'; readonly code: 'PAYMENT_NOT_CONFIRMED'; readonly says: string } & Named);

/**
 * Refunds one payment of an order in full, because an operator decides so. A payment that a paid order needs is
 * rejected: refund returned goods at the provider. Idempotent.
 */
@Injectable()
export class RefundPayment {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly unmatched: HandleUnmatched,
    private readonly found: NoteUnmatchedMoney,
    private readonly markPaid: MarkPaid,
    private readonly lookups: PaymentLookups,
    private readonly providers: PaymentProviders,
  ) {}

  /**
   * Does not accept a caller's transaction, because it may have to look up the payment first: for at most 8 s, unless
   * `signal` sets another limit. A confirmation of the provider is booked even if the refund is then rejected.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  async execute(
    request: ManualRefund,
    { by, signal = AbortSignal.timeout(PATIENCE_MS) }: LookUpOptions<Actor> = {},
  ): Promise<RefundPaymentResult> {
    checkRequest('refund', request);
    const { provider, reference } = request;
    const names = {
      provider,
      reference,
      merchantAccount: accountOf(request, this.providers),
      transactionId: null,
    };
    const operator = byOperator(by);
    const says = await this.confirm(request.orderId, names, operator, signal);
    return this.transaction.withOrder<RefundPaymentResult>(request.orderId, undefined, (locked) =>
      this.decide(locked, names, says, { by: operator, reason: request.reason }),
    );
  }

  /** Looks up a payment that was only reported. Returns the provider's answer if it does not confirm the payment. */
  private async confirm(
    orderId: string,
    names: PaymentNames,
    by: ActionContext,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { transaction, lookups, markPaid } = this;
    const { now, attempts } = await transaction.store.attemptsOf(orderId, isUnconfirmed);
    const attempt = findPayment({ attempts }, names);
    if (!attempt) return undefined;
    const [found] = await lookups.query([attempt], now, signal);
    if (found?.finding.type !== 'PAID') return sentenceOf(found);
    const account = accountOfAttempt(attempt);
    await markPaid.confirm(paymentFound(orderId, attempt, found.finding), by, { account, verified: true });
    return undefined;
  }

  private async decide(
    locked: LockedOrderContext,
    names: PaymentNames,
    says: string | undefined,
    why: Why,
  ): Promise<RefundPaymentResult> {
    const { tx, order } = locked;
    const { provider, reference } = names;
    const decision = decideManualRefund(order, names);
    switch (decision.type) {
      case 'refuse': {
        const { refusal } = decision;
        const named = { outcome: 'rejected', provider, reference } as const;
        if (refusal.code !== 'PAYMENT_NOT_CONFIRMED') return { ...named, ...refusal };
        return { ...named, ...refusal, says: says ?? 'it was not looked up at its provider yet' };
      }
      case 'refund': {
        const [disputed] = await this.found.disputed(tx, [decision.attempt], 'refund');
        if (disputed) return { outcome: 'rejected', code: 'PAYMENT_TAKEN', provider, reference };
        await this.beginRefunds(locked, decision.attempt, why);
        return { outcome: 'refunding', order: await this.transaction.view(tx, order.id) };
      }
      default:
        return { outcome: decision.type, order: await this.transaction.view(tx, order.id) };
    }
  }

  private async beginRefunds(locked: LockedOrderContext, attempt: PaymentAttempt, { by, reason }: Why): Promise<void> {
    const { tx, order, now } = locked;
    const { transaction, unmatched } = this;
    const context = { tx, by, now };
    const refunds = await unmatched.beginRefunds([attempt], 'operator', context);
    if (order.status === 'PAID') {
      // Another payment may pay the order from now on, and be more than its price, or make a third one surplus.
      const returned: PaymentAttempt = { ...attempt, status: 'REFUNDING' };
      const attempts = order.attempts.map((one) => (one === attempt ? returned : one));
      await unmatched.execute({ ...order, attempts }, context);
    }
    // The rest may be nothing, so the closing decides again.
    if (isDue(order, now)) await transaction.store.decideNow(tx, order.id);
    if (await unmatched.enterRefunding(order, refunds, context, reason)) return;
    const evidence = { refunds: refunds.map((refund) => ({ ...refund, amount: refund.amount.toString() })) };
    await this.transaction.amend(tx, order, {}, { by, reason, evidence });
  }
}

function sentenceOf(found: AttemptFinding | undefined): string {
  if (!found) return 'the provider did not respond';
  const { finding } = found;
  return 'reason' in finding ? finding.reason : `the provider says ${finding.type}`;
}

type ManualRefundRefusal =
  | { readonly code: 'PAYMENT_NOT_FOUND' }
  | { readonly code: 'PAYMENT_ERASED' }
  | { readonly code: 'PAYMENT_NOT_CONFIRMED' }
  | { readonly code: 'PAYMENT_NEEDED'; readonly status: OrderStatus }
  /** A person has dealt with it, and may have paid it back. */
  | { readonly code: 'UNMATCHED_PAYMENT_HANDLED'; readonly handling: 'settled' };

type ManualRefundDecision =
  | { readonly type: 'refund'; readonly attempt: PaymentAttempt }
  | { readonly type: 'refunding' | 'refunded' }
  | { readonly type: 'refuse'; readonly refusal: ManualRefundRefusal };

function findPayment({ attempts }: Pick<LockedOrder, 'attempts'>, names: PaymentNames): PaymentAttempt | undefined {
  const other = attempts.find((one) => one.status === 'DUPLICATE' && isSameAttempt(one, names));
  return attempts.find((attempt) => isBooked(attempt) && isSamePayment(attempt, other ?? names));
}

/** Pure: decides whether an operator may refund this payment of a locked order. */
export function decideManualRefund(order: LockedOrder, names: PaymentNames): ManualRefundDecision {
  const attempt = findPayment(order, names);
  if (!attempt) return refuse({ code: 'PAYMENT_NOT_FOUND' });
  if (attempt.status === 'REFUNDING') return { type: 'refunding' };
  if (attempt.status === 'REFUNDED') return { type: 'refunded' };
  if (attempt.status === 'SETTLED') return refuse({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  if (isErasedAttempt(attempt)) return refuse({ code: 'PAYMENT_ERASED' });
  if (isNeeded(order, attempt)) return refuse({ code: 'PAYMENT_NEEDED', status: order.status });
  return isUnconfirmed(attempt) ? refuse({ code: 'PAYMENT_NOT_CONFIRMED' }) : { type: 'refund', attempt };
}

function refuse(refusal: ManualRefundRefusal): ManualRefundDecision {
  return { type: 'refuse', refusal };
}

function isNeeded(order: LockedOrder, attempt: PaymentAttempt): boolean {
  // It never pays the order.
  if (attempt.paidCurrency !== order.currency) return false;
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

/** Which order to revive, and why. */
export interface Revival {
  readonly orderId: string;
  readonly reason: string;
}

export type ReviveOrderResult =
  | { readonly outcome: 'revived' | 'already-paid'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  /** Its goods are sold. The money stays where it is. */
  | { readonly outcome: 'rejected'; readonly code: 'OUT_OF_STOCK'; readonly shortages: readonly StockShortage[] }
  | ({ readonly outcome: 'rejected' } & RevivalRefusal);

/**
 * Makes a closed order PAID by the money that was kept for it, if its goods are in stock. A canceled order is never
 * revived. Idempotent.
 */
@Injectable()
export class ReviveOrder {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly unmatched: HandleUnmatched,
    private readonly found: NoteUnmatchedMoney,
  ) {}

  /** @throws InvalidOrderError if the request is invalid. */
  execute(request: Revival, { by, tx }: OperatorOptions = {}): Promise<ReviveOrderResult> {
    checkRequest('revival', request);
    return this.transaction.withOrder<ReviveOrderResult>(request.orderId, tx, (locked) =>
      this.decide(locked, { by: byOperator(by), reason: request.reason }),
    );
  }

  private async decide({ tx, order, now }: LockedOrderContext, { by, reason }: Why): Promise<ReviveOrderResult> {
    const { transaction, unmatched, found } = this;
    const paid = paidAttempts(order);
    const decision = decideRevival(order, await found.disputed(tx, paid, 'revival'));
    if (decision.type === 'refuse') return { outcome: 'rejected', ...decision.refusal };
    if (decision.type === 'already-paid')
      return { outcome: 'already-paid', order: await transaction.view(tx, order.id) };
    if (!(await unmatched.reviveWith(order, decision.attempts, { tx, by, now }, { by, reason }))) {
      return { outcome: 'rejected', code: 'OUT_OF_STOCK', shortages: await this.shortagesOf(tx, order.id) };
    }
    return { outcome: 'revived', order: await transaction.view(tx, order.id) };
  }

  private async shortagesOf(tx: EntityManager, orderId: string): Promise<StockShortage[]> {
    const { lines } = await this.transaction.view(tx, orderId);
    const wanted = new Map<string, number>();
    for (const { sku, quantity } of lines) wanted.set(sku, (wanted.get(sku) ?? 0) + quantity);
    const levels = await this.transaction.store.inventory.read(tx, [...wanted.keys()]);
    const available = new Map(levels.map((level) => [level.sku, level.available]));
    const shortages = [...wanted].map(([sku, count]) => ({ sku, wanted: count, available: available.get(sku) ?? 0 }));
    return shortages.filter((shortage) => shortage.available < shortage.wanted);
  }
}

/** Why an order cannot be revived, whatever is in stock. */
type RevivalRefusal =
  | { readonly code: 'ORDER_NOT_REVIVABLE'; readonly status: OrderStatus }
  /** Its payments do not pay it. `PAYMENT_TAKEN`: they would, but another order counts on the same payment. */
  | { readonly code: 'PAYMENT_INSUFFICIENT' | 'PAYMENT_TAKEN' }
  /** They would, but a person has dealt with one of them, and may have given it back. */
  | { readonly code: 'UNMATCHED_PAYMENT_HANDLED'; readonly handling: 'settled' };

type RevivalDecision =
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
  if (order.status !== 'CLOSED') return refuseRevival({ code: 'ORDER_NOT_REVIVABLE', status: order.status });
  const isEnough = (attempts: readonly PaymentAttempt[]): boolean =>
    moneyReceived(order, attempts).type === 'sufficient';
  const left = order.attempts.filter((attempt) => !disputed.includes(attempt));
  const attempts = left.filter(({ status }) => status === 'PAID');
  if (isEnough(attempts)) return { type: 'revive', attempts };
  if (isEnough(left.map(reopened))) return refuseRevival({ code: 'UNMATCHED_PAYMENT_HANDLED', handling: 'settled' });
  return refuseRevival({ code: isEnough(order.attempts) ? 'PAYMENT_TAKEN' : 'PAYMENT_INSUFFICIENT' });
}

function reopened(attempt: PaymentAttempt): PaymentAttempt {
  return attempt.status === 'SETTLED' ? { ...attempt, status: 'PAID' } : attempt;
}

function refuseRevival(refusal: RevivalRefusal): RevivalDecision {
  return { type: 'refuse', refusal };
}
