import { type EntityManager } from 'typeorm';
import { assertNever } from '../../errors';
import { type TimeoutScheduler } from '../../timeouts';
import { applyStep } from '../apply-step';
import { type LockedOrder } from '../order';
import { type OrderPolicies } from '../order-policies';
import { type OrderStore, type UnexpectedHandling } from '../order-store';
import { PAYMENT_REFUND } from '../order-timeouts';
import { type PaymentAttempt } from '../payment-attempt';
import { transition } from '../transition';
import { type ActionContext } from '../transition-cause';
import { decideLatePayment, type LateDecision, type LateReason } from './decide-late-payment';
import { type Refund, refundOf, type RefundReason } from './refund';
import { type RefundRows } from './refund-rows';
import { strayMoney } from './stray-money';

interface Plan {
  readonly store: OrderStore;
  readonly scheduler: TimeoutScheduler;
  readonly policies: OrderPolicies;
  readonly refunds: RefundRows;
}

/** A transaction that holds an order's lock. */
export interface LateContext {
  readonly tx: EntityManager;
  readonly by: ActionContext;
  /** The database's time in it. */
  readonly now: Date;
}

/** Sees to money that an order holds and does not need: it revives the order, goes back, or waits for a person. */
export class LatePayments {
  constructor(private readonly plan: Plan) {}

  /**
   * Deals with every payment of the order that is neither needed nor on its way back, in the caller's transaction. To
   * be called after everything else that takes locks there: it may lock stock. Idempotent.
   *
   * @param order as it stands now in this transaction, locked.
   */
  async settle(order: LockedOrder, context: LateContext): Promise<void> {
    const decision = this.decide(order);
    switch (decision.type) {
      case 'nothing':
        return;
      case 'keep':
        return this.report(decision.attempts, decision.reason, 'kept', context);
      case 'refund':
        return this.refund(order, decision.attempts, decision.reason, context);
      case 'revive':
        return this.revive(order, decision.attempts, context);
      default:
        return assertNever(decision);
    }
  }

  /**
   * Locks the stock that reviving these orders would take, and that of `others` with it: in one statement, so that two
   * transactions with many orders each do not wait for one another. Nothing is locked where no order is revived.
   */
  async lockStock(
    orders: readonly LockedOrder[],
    { tx }: Pick<LateContext, 'tx'>,
    others: readonly string[] = [],
  ): Promise<void> {
    const revived = orders.filter((order) => this.decide(order).type === 'revive').map(({ id }) => id);
    if (revived.length > 0) await this.plan.store.lockStock(tx, [...revived, ...others]);
  }

  /** What is done meanwhile about money that is not enough for its order. */
  handlingOfPart({ merchantId }: LockedOrder): UnexpectedHandling {
    return this.plan.policies.of(merchantId).partialPayment === 'park' ? 'kept' : 'waiting';
  }

  /** Begins the refunds of these attempts; the order stays as it is. For money that is too little, before closing. */
  async giveBack(
    attempts: readonly PaymentAttempt[],
    reason: RefundReason,
    { tx, by }: LateContext,
  ): Promise<readonly Refund[]> {
    if (attempts.length === 0) return [];
    const refunds = attempts.map((attempt) => refundOf(attempt, reason));
    await this.plan.refunds.insert(tx, refunds);
    await this.plan.store.setAttemptStatus(tx, refunds, 'REFUNDING');
    const trace = by.traceparent === undefined ? {} : { traceparent: by.traceparent };
    const timeouts = refunds.map(({ number }) => ({ kind: PAYMENT_REFUND, key: number, afterMs: 0, ...trace }));
    await this.plan.scheduler.schedule(tx, timeouts);
    return refunds;
  }

  /** An ended order whose money goes back says so, whatever it was before. A paid one stays paid. */
  async enterRefunding(order: LockedOrder, refunds: readonly Refund[], { tx, by, now }: LateContext): Promise<void> {
    if (order.status !== 'CLOSED' && order.status !== 'CANCELLED' && order.status !== 'CLOSED_REFUNDED') return;
    const evidence = { refunds: refunds.map((refund) => ({ ...refund, amount: refund.amount.toString() })) };
    const reason = refunds[0]?.reason ?? 'late';
    await applyStep(this.plan.store, tx, transition(order, 'REFUNDING', { by, now, reason, evidence }));
  }

  private decide(order: LockedOrder): LateDecision {
    return decideLatePayment(order, this.plan.policies.of(order.merchantId));
  }

  private async refund(
    order: LockedOrder,
    attempts: readonly PaymentAttempt[],
    reason: LateReason,
    context: LateContext,
  ): Promise<void> {
    const refunds = await this.giveBack(attempts, reason, context);
    await this.enterRefunding(order, refunds, context);
    await this.report(attempts, reason, 'refunding', context);
  }

  private async revive(order: LockedOrder, attempts: readonly PaymentAttempt[], context: LateContext): Promise<void> {
    const { tx, by, now } = context;
    if (!(await this.plan.store.reserveAgain(tx, order.id))) return this.refund(order, attempts, 'late', context);
    const evidence = { attempts: attempts.map(({ provider, reference }) => ({ provider, reference })) };
    await applyStep(this.plan.store, tx, transition(order, 'PAID', { by, now, reason: 'revived', evidence }));
    await this.report(attempts, 'late', 'revived', context);
    // What the revived order does not need of it is surplus, like anybody's second payment.
    await this.settle({ ...order, status: 'PAID', version: order.version + 1 }, context);
  }

  private report(
    attempts: readonly PaymentAttempt[],
    reason: LateReason,
    handling: UnexpectedHandling,
    { tx, by, now }: LateContext,
  ): Promise<void> {
    return this.plan.store.keepUnexpected(
      tx,
      attempts.map((attempt) => strayMoney(attempt, { reason, handling, now, traceparent: by.traceparent })),
    );
  }
}
