import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { assertNever } from '../../errors';
import { PaymentProviders } from '../../payments';
import { TimeoutScheduler } from '../../timeouts';
import { applyStep, type Why } from '../sql/order-transaction';
import { neededPayments } from '../model/decide-claim';
import { insufficientParts, moneyReceived, isPaidByReports, toldOfPaid } from '../model/money';
import { handlingOfPart } from '../model/plan-closing';
import { type LockedOrder, isUnconfirmed, paidAttempts, type PaymentAttempt, isClaim } from '../model/order';
import { OrderPolicies, type OrderPolicy } from '../model/order-policies';
import { OrderStore } from '../sql/order-store';
import { reconcileTimeout, PAYMENT_REFUND } from '../model/order-timeouts';
import { transition, type ActionContext } from '../model/transition';
import {
  type UnmatchedHandling,
  type UnmatchedReason,
  type LockedContext,
  PART_REASONS,
  type Refund,
  refundOf,
  refundOfExcess,
  type RefundReason,
  unmatchedFromAttempt,
  WHOLE_PAYMENT_REASONS,
} from '../model/unmatched-money';
import { NoteUnmatchedMoney } from './note-unmatched-money';
import { RefundRows } from './refunds';
import { UnmatchedRows } from './unmatched-payment';

/** Handles money that an order holds and does not need: it revives the order, is refunded, or waits for a person. */
@Injectable()
export class HandleUnmatched {
  constructor(
    private readonly store: OrderStore,
    private readonly scheduler: TimeoutScheduler,
    private readonly policies: OrderPolicies,
    private readonly refunds: RefundRows,
    private readonly found: NoteUnmatchedMoney,
    private readonly rows: UnmatchedRows,
    private readonly providers: PaymentProviders,
  ) {}

  /**
   * Handles every payment of the order that is neither needed nor being refunded, in the caller's transaction. Call it
   * after everything else that takes locks, because it may lock stock. Idempotent.
   *
   * @param order its current state in this transaction, locked.
   * @param isNews The order was not PAID before. What was told of an only payment was closed with that.
   */
  async execute(order: LockedOrder, context: LockedContext, isNews = false): Promise<void> {
    const isTold = order.status === 'PAID' && !(isNews && order.attempts.length < 2);
    if (isTold) await this.store.contested.closeOutdated(context.tx, toldOfPaid(order));
    await this.handleExcess(order, context);
    await this.tellOfShortage(order, context);
    await this.found.outrank(order, context);
    const decision = this.decide(order, context);
    switch (decision.type) {
      case 'nothing':
        return;
      case 'refund':
        return this.handle(order, decision, context);
      case 'revive':
        return this.revive(order, decision.attempts, context);
      default:
        return assertNever(decision);
    }
  }

  /** Handles what is too much of the payments that the order needs and keeps. */
  private async handleExcess(order: LockedOrder, context: LockedContext): Promise<void> {
    const money = moneyReceived(order, order.attempts);
    if (order.status !== 'PAID' || money.type !== 'sufficient' || !money.overpaid) return;
    const { attempt, excess } = money.overpaid;
    const { tx, by, now } = context;
    const isRefunded = await this.isExcessRefunded(order, attempt, tx);
    const handling = isRefunded ? 'refunding' : 'kept';
    const why = { reason: 'overpaid', handling, now, traceparent: by.traceparent } as const;
    await this.store.keepUnmatched(tx, [{ ...unmatchedFromAttempt(attempt, why), amount: excess }]);
    if (isRefunded) await this.begin([refundOfExcess(attempt, excess)], context);
  }

  /**
   * Tells a person that a paid order has less money than it needs: a report was wrong, or a person has settled what it names.
   */
  private async tellOfShortage(order: LockedOrder, { tx, by, now }: LockedContext): Promise<void> {
    if (order.status !== 'PAID') return;
    const parts = insufficientParts(order, { handling: 'kept', now, traceparent: by.traceparent });
    await this.store.keepUnmatched(tx, parts);
  }

  /**
   * Locks the stock for reviving these orders, and that of `others`, in one statement, so that two transactions with
   * many orders do not deadlock. Locks nothing if no order is revived.
   */
  async lockStock(tx: EntityManager, orders: readonly LockedOrder[], others: readonly string[] = []): Promise<void> {
    const revived = orders.filter((order) => this.revives(order)).map(({ id }) => id);
    if (revived.length > 0) await this.store.inventory.lockAll(tx, [...revived, ...others]);
  }

  /** Whether its money makes the order PAID, which reserves its goods again. */
  revives(order: LockedOrder): boolean {
    return this.decide(order, {}).type === 'revive';
  }

  /** How money is handled for now: the deadline of an open order decides about a part of its price, and else a person. */
  handlingOf(reason: UnmatchedReason, order: LockedOrder): UnmatchedHandling {
    const isPart = PART_REASONS.some((one) => one === reason);
    return isPart ? handlingOfPart(order, this.policies.of(order.merchantId).partialPayment) : 'kept';
  }

  /** Begins the refunds of these attempts. The order stays as it is. For partial payments, before closing. */
  async beginRefunds(
    attempts: readonly PaymentAttempt[],
    reason: RefundReason,
    context: LockedContext,
  ): Promise<readonly Refund[]> {
    if (attempts.length === 0) return [];
    const refunds = attempts.map((attempt) => refundOf(attempt, reason));
    await this.store.setAttemptStatus(context.tx, refunds, 'REFUNDING');
    await this.begin(refunds, context);
    return refunds;
  }

  /**
   * Changes an ended order to REFUNDING, whatever its status. A paid order stays paid.
   *
   * @param reason for the history, instead of that of the refunds.
   * @returns whether the order has changed.
   */
  async enterRefunding(
    order: LockedOrder,
    refunds: readonly Refund[],
    { tx, by, now }: LockedContext,
    reason?: string,
  ): Promise<boolean> {
    const [first] = refunds;
    const mayEnter = order.status === 'CLOSED' || order.status === 'CANCELLED' || order.status === 'CLOSED_REFUNDED';
    if (!first || !mayEnter) return false;
    const evidence = { refunds: refunds.map((refund) => ({ ...refund, amount: refund.amount.toString() })) };
    const step = { by, now, reason: reason ?? first.reason, evidence, details: { reason: first.reason } };
    await applyStep(this.store, tx, transition(order, 'REFUNDING', step));
    return true;
  }

  /**
   * Makes a closed order PAID by the payments that it holds. Call it last in a transaction, because it locks stock.
   *
   * @param reason for the history; the event says `revived`.
   * @returns false if its goods are sold; nothing was written.
   */
  async reviveWith(
    order: LockedOrder,
    attempts: readonly PaymentAttempt[],
    context: LockedContext,
    person?: Why,
  ): Promise<boolean> {
    const { tx, by, now } = context;
    if (!(await this.store.inventory.reserveAgain(tx, order.id))) return false;
    const evidence = { attempts: attempts.map(({ provider, reference }) => ({ provider, reference })) };
    const step = { by, now, reason: person?.reason ?? 'revived', evidence, details: { reason: 'revived' } };
    await applyStep(this.store, tx, transition(order, 'PAID', step));
    await this.report(attempts, 'late', 'revived', context);
    // Before the rows of payments that the order needs are closed, which says nothing of a person.
    if (person) await this.rows.reviveLate(tx, order.id, person);
    // Payments that the revived order does not need are surplus, like any second payment.
    await this.execute({ ...order, status: 'PAID', version: order.version + 1 }, context);
    return true;
  }

  private decide(order: LockedOrder, { verified = false }: Partial<LockedContext>): UnmatchedDecision {
    return decideUnmatched(order, this.policies.of(order.merchantId), { verified });
  }

  private async handle(
    order: LockedOrder,
    { refunds: wanted, kept, unverified, reason }: RefundDecision,
    context: LockedContext,
  ): Promise<void> {
    const disputed = await this.notRefunded(order, wanted, reason, context);
    const others = wanted.filter((attempt) => !disputed.includes(attempt));
    const refunds = await this.beginRefunds(others, reason, context);
    await this.enterRefunding(order, refunds, context);
    await this.report(others, reason, 'refunding', context);
    await this.report([...kept, ...disputed], reason, 'kept', context);
    // All of it is too much now, which the new row says.
    const still = stillTold(reason);
    const told = [...kept, ...disputed].map((attempt) => ({ attempt, still }));
    await this.store.contested.closeOutdated(context.tx, told);
    // Looked up after this transaction. The answer is then decided here again.
    const check = { ...reconcileTimeout(order.id), afterMs: 0, ...traceOf(context.by) };
    const doubtful = reason === 'surplus' ? [...unverified, ...kept.filter(mayBeOpen)] : unverified;
    if (doubtful.length > 0 && !context.isAsking) await this.scheduler.schedule([check], { tx: context.tx });
  }

  /** Those of these payments that a person must decide about. A buyer whose bank takes a payment back may have paid again. */
  private async notRefunded(
    order: LockedOrder,
    wanted: readonly PaymentAttempt[],
    reason: LateOrSurplus,
    { tx }: LockedContext,
  ): Promise<readonly PaymentAttempt[]> {
    const instead = reason === 'surplus' && wanted.length > 0 ? neededPayments(order) : [];
    const takenBack = await this.store.contested.chargedBack(tx, instead);
    return takenBack.length > 0 ? wanted : this.found.unrefundable(tx, wanted);
  }

  private async begin(refunds: readonly Refund[], { tx, by }: LockedContext): Promise<void> {
    await this.refunds.insert(tx, refunds, refunds[0]?.reason === 'operator' ? by.actor : undefined);
    const timeouts = refunds.map(({ number }) => ({ kind: PAYMENT_REFUND, key: number, afterMs: 0, ...traceOf(by) }));
    await this.scheduler.schedule(timeouts, { tx });
  }

  /** It is refunded once, when it is first noticed for certain, and only if no other order counts on the money. */
  private async isExcessRefunded(order: LockedOrder, attempt: PaymentAttempt, tx: EntityManager): Promise<boolean> {
    const { policies, providers, refunds, found } = this;
    const canRefund = providers.get(attempt.provider)?.refundsInPart === true;
    if (!canRefund || !mayRefundExcess(order, policies.of(order.merchantId))) return false;
    if (await refunds.isExcessDecided(tx, attempt)) return false;
    return (await found.unrefundable(tx, neededPayments(order))).length === 0;
  }

  private async revive(order: LockedOrder, attempts: readonly PaymentAttempt[], context: LockedContext): Promise<void> {
    // What the buyer's bank takes back sells no goods without a person.
    const takenBack = await this.store.contested.chargedBack(context.tx, attempts);
    if (takenBack.length > 0 || !(await this.reviveWith(order, attempts, context))) await this.giveUp(order, context);
  }

  /** It cannot be revived, so its money is handled like that of any ended order. */
  private async giveUp(order: LockedOrder, context: LockedContext): Promise<void> {
    const policy = this.policies.of(order.merchantId);
    const decision = decideLate(order, policy, { verified: context.verified ?? false });
    if (decision.type === 'refund') await this.handle(order, decision, context);
  }

  private report(
    attempts: readonly PaymentAttempt[],
    reason: LateOrSurplus,
    handling: UnmatchedHandling,
    { tx, by, now }: LockedContext,
  ): Promise<void> {
    const why = { reason, handling, now, traceparent: by.traceparent };
    const money = attempts.map((attempt) => unmatchedFromAttempt(attempt, why));
    return this.store.keepUnmatched(tx, money);
  }
}

/** Its provider may say that it is open, whatever was reported. The look-up closes it. */
function mayBeOpen(attempt: PaymentAttempt): boolean {
  return attempt.registered && isUnconfirmed(attempt);
}

function traceOf({ traceparent }: ActionContext): { traceparent?: string } {
  return traceparent === undefined ? {} : { traceparent };
}

export type LateOrSurplus = 'late' | 'surplus';

export interface RefundDecision {
  readonly type: 'refund';
  readonly reason: LateOrSurplus;
  readonly refunds: readonly PaymentAttempt[];
  readonly kept: readonly PaymentAttempt[];
  /** Only a report vouches for these, or for what makes them unneeded. They must be looked up first. */
  readonly unverified: readonly PaymentAttempt[];
}

type UnmatchedDecision =
  | { readonly type: 'nothing' }
  /** The order becomes PAID after all if its stock is available; otherwise all of it is refunded. */
  | { readonly type: 'revive'; readonly attempts: readonly PaymentAttempt[] }
  | RefundDecision;

export type UnmatchedPolicy = Pick<OrderPolicy, 'latePayment' | 'surplusPayment'>;

/** `verified`: the payments were looked up just now. Unconfirmed ones are kept. */
interface Verification {
  readonly verified: boolean;
}

const NOTHING: UnmatchedDecision = { type: 'nothing' };
const DOUBTFUL: RefundDecision = { type: 'refund', reason: 'surplus', refunds: [], kept: [], unverified: [] };

/** Pure: decides about every payment of a locked order that is neither needed nor being refunded. */
export function decideUnmatched(
  order: LockedOrder,
  policy: UnmatchedPolicy,
  verification: Verification,
): UnmatchedDecision {
  switch (order.status) {
    case 'PENDING':
    case 'CLOSING':
      return NOTHING;
    case 'PAID':
      return decideSurplus(order, policy, verification);
    case 'CLOSED':
      return decideClosed(order, policy, verification);
    case 'CANCELLED':
    case 'REFUNDING':
    case 'CLOSED_REFUNDED':
      return decideLate(order, policy, verification);
    default:
      return assertNever(order.status);
  }
}

/** Pure: decides about all payments of an order that ended without needing any. */
export function decideLate(
  order: LockedOrder,
  { latePayment }: UnmatchedPolicy,
  verification: Verification,
): UnmatchedDecision {
  return refundPayments(paidAttempts(order), 'late', latePayment === 'keep' || isErased(order), verification);
}

/** Pure: what a person is still told of money that is kept. What came late is surplus once another payment pays the order. */
export function stillTold(reason: LateOrSurplus): readonly UnmatchedReason[] {
  return WHOLE_PAYMENT_REASONS.filter((one) => reason === 'late' || one !== 'late');
}

/** Pure: whether what is too much of a paid order may be refunded: its provider has confirmed all that pays the order. */
export function mayRefundExcess(order: LockedOrder, { overpayment }: Pick<OrderPolicy, 'overpayment'>): boolean {
  return overpayment === 'refund-excess' && !isErased(order) && !neededPayments(order).some(isClaim);
}

function decideSurplus(
  order: LockedOrder,
  { surplusPayment }: UnmatchedPolicy,
  verification: Verification,
): UnmatchedDecision {
  const money = moneyReceived(order, order.attempts);
  if (money.type !== 'sufficient') return NOTHING;
  // A report may state too little, so that none of several payments seems to be surplus.
  const reported = order.attempts.filter(isUnconfirmed);
  const isAlone = reported.length === 1 && (money.surplus.length > 0 || paidAttempts(order).length === 1);
  const mayHideSurplus = reported.length > 0 && !isAlone;
  if (mayHideSurplus && !verification.verified) return { ...DOUBTFUL, unverified: reported };
  if (money.surplus.length === 0) return NOTHING;
  const keeps = surplusPayment === 'keep' || isErased(order);
  // The payments that pay the order must be certain before others are refunded as surplus.
  if (!isPaidByReports(order, order.attempts)) return refundPayments(money.surplus, 'surplus', keeps, verification);
  if (keeps || verification.verified) return { ...DOUBTFUL, kept: money.surplus };
  return { ...DOUBTFUL, unverified: money.surplus };
}

function decideClosed(order: LockedOrder, policy: UnmatchedPolicy, verification: Verification): UnmatchedDecision {
  const isEnough = moneyReceived(order, order.attempts).type === 'sufficient';
  if (policy.latePayment !== 'revive-if-stock' || !isEnough || isErased(order))
    return decideLate(order, policy, verification);
  return { type: 'revive', attempts: paidAttempts(order) };
}

/** Nobody can tell anymore whether the order had a payment already, so a person decides about every payment. */
function isErased(order: LockedOrder): boolean {
  return order.isErased === true;
}

/**
 * Money is refunded automatically only if it is certain that it arrived, and that it is for this order. Otherwise a
 * caller that may report payments could have any payment of the account refunded.
 */
function refundPayments(
  attempts: readonly PaymentAttempt[],
  reason: LateOrSurplus,
  keeps: boolean,
  { verified }: Verification,
): UnmatchedDecision {
  if (attempts.length === 0) return NOTHING;
  const isKept = (attempt: PaymentAttempt): boolean =>
    keeps || !attempt.registered || (verified && isUnconfirmed(attempt));
  const others = attempts.filter((attempt) => !isKept(attempt));
  return {
    type: 'refund',
    reason,
    kept: attempts.filter(isKept),
    unverified: others.filter(isUnconfirmed),
    refunds: others.filter((attempt) => !isUnconfirmed(attempt)),
  };
}
