import { present } from '../../errors';
import { type EntityManager } from 'typeorm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutHandler,
} from '../../timeouts';
import { applyStep } from '../apply-step';
import { type PaymentLookups } from '../lookup/payment-lookups';
import { busyOutcome } from '../busy-outcome';
import { type LockedOrder } from '../order';
import { type OrderEventLog } from '../order-event-log';
import { orderEvent } from '../order-events';
import { type OrderStore } from '../sql/order-store';
import { PAYMENT_REFUND, OWN_LIMITS } from '../order-timeouts';
import { transition } from '../transition';
import { type ActionContext } from '../transition-cause';
import { decideRefund, type RefundAnswer } from './decide-refund';
import { type Refund } from './refund';
import { type OpenRefund, type RefundRows } from './refund-rows';

type Due = DueTimeout<RefundAnswer>;

interface Dependencies {
  readonly store: OrderStore;
  readonly refunds: RefundRows;
  readonly providers: PaymentLookups;
  readonly events: Pick<OrderEventLog, 'append'>;
}

/**
 * Refunds payments: calls the provider with the refund's own number until it confirms the refund. Each refund is a
 * timeout, so it survives every crash. It is given up, with an alert, only if the provider rejects it.
 */
@TimeoutHandler(PAYMENT_REFUND, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class RefundPayments implements TimeoutHandlerBatch<RefundAnswer> {
  constructor(private readonly deps: Dependencies) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const numbers = due.map((timeout) => timeout.key);
    const open = await this.deps.refunds.open(numbers, tx);
    const orderIds = [...new Set([...open.values()].map(({ refund }) => refund.orderId))];
    const { orders, now } = await this.deps.store.lock(tx, orderIds, 'skip-locked');
    const outcomes: TimeoutOutcome[] = [];
    for (const timeout of due) outcomes.push(await this.settleOne(timeout, open.get(timeout.key), orders, now, tx));
    return outcomes;
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<RefundAnswer> {
    const open = (await this.deps.refunds.open([due.key])).get(due.key);
    if (!open) return { type: 'UNKNOWN', reason: 'the refund is done already' };
    return this.deps.providers.refund(open.attempt, open.refund, signal);
  }

  private async settleOne(
    due: Due,
    open: OpenRefund | undefined,
    orders: ReadonlyMap<string, LockedOrder>,
    now: Date,
    tx: EntityManager,
  ): Promise<TimeoutOutcome> {
    if (!open) return DONE;
    const answer = answerOf(open, due);
    if (!answer) return LOOK_UP;
    const decision = decideRefund(answer, now.getTime() - open.createdAt.getTime());
    if (decision.type === 'retry') return decision;
    const order = orders.get(open.refund.orderId);
    if (!order) return busyOutcome(due, now);
    const evidence = answer.type === 'REFUNDED' ? answer.evidence : {};
    await this.deps.refunds.finish(tx, open.refund.number, { ...decision, evidence });
    await this.deps.store.setAttemptStatus(tx, [open.refund], 'REFUNDED');
    const by = { cause: due.cause, traceparent: due.traceparent };
    await this.announce(tx, await this.currentOf(tx, order), { ...open.refund, refundId: decision.refundId }, by, now);
    return DONE;
  }

  /** Another refund of the same batch may have changed the order. */
  private async currentOf(tx: EntityManager, order: LockedOrder): Promise<LockedOrder> {
    const { orders } = await this.deps.store.lock(tx, [order.id], 'wait');
    return present(orders.get(order.id), `order ${order.id}, locked before`);
  }

  /**
   * Sends `order.refunded`. For the last refund of an order that ended without payment, it is part of the transition.
   */
  private async announce(
    tx: EntityManager,
    order: LockedOrder,
    refund: Refund & { readonly refundId: string },
    by: ActionContext,
    now: Date,
  ): Promise<void> {
    const { number: refundNumber, provider, reference, refundId, reason } = refund;
    const money = { refundedAmount: Number(refund.amount), refundedCurrency: refund.currency };
    const details = { refundNumber, refundId, provider, reference, ...money, reason };
    const isLast = order.status === 'REFUNDING' && !(await this.deps.refunds.hasPending(tx, order.id));
    if (isLast) {
      const step = transition(order, 'CLOSED_REFUNDED', { by, now, reason, evidence: details, details });
      return applyStep(this.deps.store, tx, step);
    }
    const event = orderEvent(
      'order.refunded',
      order,
      order.version,
      now,
      { ...details, cause: by.cause },
      by.traceparent,
    );
    await this.deps.events.append(tx, [event]);
  }
}

/** The known answer for the refund. A person's note outweighs the provider, which then need not be called. */
function answerOf({ paidBackAs }: OpenRefund, { answer }: Due): RefundAnswer | undefined {
  return paidBackAs === undefined ? answer : { type: 'REFUNDED', refundId: paidBackAs, evidence: {} };
}
