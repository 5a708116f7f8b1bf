import { type EntityManager } from 'typeorm';
import { present, assertNever } from '../../errors';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutHandler,
} from '../../timeouts';
import { type RefundOutcome } from '../../payments';
import { applyStep } from '../sql/order-transaction';
import { PaymentLookups } from '../lookup/payment-lookups';
import { busyOutcome, PAYMENT_REFUND, OWN_LIMITS } from '../model/order-timeouts';
import { type LockedOrder } from '../model/order';
import { OrderEventLog } from '../listeners/order-listeners';
import { orderEvent, transition, type ActionContext } from '../model/transition';
import { OrderStore } from '../sql/order-store';
import { waitedMs, MAX_DEFER_MS } from '../model/findings';
import { isOfExcess, type Refund, unmatchedFromAttempt } from '../model/unmatched-money';
import { type AskableRefund, RefundRows } from './refund-rows';

type Due = DueTimeout<RefundAnswer>;

/**
 * Refunds payments: calls the provider with the refund's own number until it confirms the refund. Each refund is a
 * timeout, so it survives every crash. It is given up, with an alert, only if the provider rejects it. A refund that is
 * done is asked for again when the provider reports a change, because it may fail later.
 */
@TimeoutHandler(PAYMENT_REFUND, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class RefundPayments implements TimeoutHandlerBatch<RefundAnswer> {
  constructor(
    private readonly store: OrderStore,
    private readonly refunds: RefundRows,
    private readonly lookups: PaymentLookups,
    private readonly events: OrderEventLog,
  ) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const numbers = due.map((timeout) => timeout.key);
    const askable = await this.refunds.askable(numbers, tx);
    const orderIds = [...new Set([...askable.values()].map(({ refund }) => refund.orderId))];
    const { orders, now } = await this.store.lock(tx, orderIds, 'skip-locked');
    const outcomes: TimeoutOutcome[] = [];
    for (const timeout of due) outcomes.push(await this.settleOne(timeout, askable.get(timeout.key), orders, now, tx));
    return outcomes;
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<RefundAnswer> {
    const asked = (await this.refunds.askable([due.key])).get(due.key);
    if (!asked || isOver(asked, due)) return { type: 'UNKNOWN', reason: 'the refund is done already' };
    return this.lookups.refund(asked.attempt, asked.refund, signal);
  }

  private async settleOne(
    due: Due,
    asked: AskableRefund | undefined,
    orders: ReadonlyMap<string, LockedOrder>,
    now: Date,
    tx: EntityManager,
  ): Promise<TimeoutOutcome> {
    if (!asked || isOver(asked, due)) return DONE;
    const answer = answerOf(asked, due);
    if (!answer) return LOOK_UP;
    const decision = asked.isConfirmed
      ? decideCheck(answer, waitedMs(due, now))
      : decideRefund(answer, waitedMs(due, now));
    const isRejected = answer.type === 'REJECTED';
    if (decision.type === 'retry' && !isRejected) return decision;
    if (decision.type === 'stands') return DONE;
    const order = orders.get(asked.refund.orderId);
    if (!order) return busyOutcome(due, now);
    const by = { cause: due.cause, traceparent: due.traceparent };
    if (decision.type === 'failed')
      await this.reopen(tx, await this.currentOf(tx, order), asked, decision.reason, by, now);
    if (isRejected) await this.tellOfFailure(tx, asked, answer.reason, by, now);
    if (decision.type === 'retry') return decision;
    if (decision.type === 'failed')
      return { type: 'retry', counted: true, reason: `the refund failed after it was done: ${decision.reason}` };
    const evidence = answer.type === 'REFUNDED' ? answer.evidence : {};
    await this.refunds.finish(tx, asked.refund.number, { ...decision, evidence });
    await this.setAttemptStatus(tx, asked.refund, 'REFUNDED');
    await this.announce(tx, await this.currentOf(tx, order), { ...asked.refund, refundId: decision.refundId }, by, now);
    return DONE;
  }

  /** The money is back at the merchant. The refund is pending again. */
  private async reopen(
    tx: EntityManager,
    order: LockedOrder,
    { refund }: AskableRefund,
    says: string,
    by: ActionContext,
    now: Date,
  ): Promise<void> {
    const { refunds, store } = this;
    const reason = 'refund-failed';
    const evidence = { refundNumber: refund.number, says };
    await refunds.reopen(tx, refund.number);
    await this.setAttemptStatus(tx, refund, 'REFUNDING');
    if (order.status === 'CLOSED_REFUNDED')
      await applyStep(store, tx, transition(order, 'REFUNDING', { by, now, reason, evidence, details: { reason } }));
  }

  /** Tells a person, who may pay the buyer back by other means. Repeated calls of one failure change nothing. */
  private async tellOfFailure(
    tx: EntityManager,
    { refund, attempt }: AskableRefund,
    says: string,
    { traceparent }: ActionContext,
    now: Date,
  ): Promise<void> {
    const reason = isOfExcess(refund) ? 'excess-refund-failed' : 'refund-failed';
    const failed = unmatchedFromAttempt(attempt, { reason, handling: 'kept', now, traceparent });
    const evidence = { refundNumber: refund.number, says };
    await this.store.keepUnmatched(tx, [{ ...failed, amount: refund.amount, evidence }]);
  }

  /** An attempt whose excess goes back stays PAID by the rest. */
  private async setAttemptStatus(tx: EntityManager, refund: Refund, status: 'REFUNDING' | 'REFUNDED'): Promise<void> {
    if (!isOfExcess(refund)) await this.store.setAttemptStatus(tx, [refund], status);
  }

  /** Another refund of the same batch may have changed the order. */
  private async currentOf(tx: EntityManager, order: LockedOrder): Promise<LockedOrder> {
    const { orders } = await this.store.lock(tx, [order.id], 'wait');
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
    const isLast = order.status === 'REFUNDING' && !(await this.refunds.hasPending(tx, order.id));
    if (isLast) {
      const step = transition(order, 'CLOSED_REFUNDED', { by, now, reason, evidence: details, details });
      return applyStep(this.store, tx, step);
    }
    const event = orderEvent(
      'order.refunded',
      order,
      order.version,
      now,
      { ...details, cause: by.cause },
      by.traceparent,
    );
    await this.events.append(tx, [event]);
  }
}

/** A refund that is done is asked for again only if a notification has scheduled that. */
function isOver({ isConfirmed }: AskableRefund, { payload }: Pick<DueTimeout, 'payload'>): boolean {
  return isConfirmed && payload['isCheck'] !== true;
}

/** The known answer for the refund. A person's note outweighs the provider, which then need not be called. */
function answerOf({ paidBackAs }: AskableRefund, { answer }: Due): RefundAnswer | undefined {
  return paidBackAs === undefined ? answer : { type: 'REFUNDED', refundId: paidBackAs, evidence: {} };
}

/** The result of a provider's answer to a refund: done, or another call with the same number. */
type RefundDecision =
  { readonly type: 'refunded'; readonly refundId: string } | Extract<TimeoutOutcome, { type: 'retry' }>;

/** The result of asking again for a refund that the provider had confirmed. */
type CheckDecision =
  | { readonly type: 'stands' }
  | { readonly type: 'failed'; readonly reason: string }
  | Extract<TimeoutOutcome, { type: 'retry' }>;

/** The answer; `NO_PROVIDER`: this process cannot call the provider. */
export type RefundAnswer = RefundOutcome | { readonly type: 'NO_PROVIDER'; readonly reason: string };

const SECOND = 1_000;

const MINUTE = 60 * SECOND;

const HOUR = 60 * MINUTE;

/** Longer than the lag of a provider's read replica. After this time, its answer is trusted. */
const DOUBT_MS = MINUTE;

/**
 * Pure: decides how a refund continues. `waitedMs`: since it was first requested. A refund never expires. It is parked with
 * an alert after a day without a clear answer, because some causes, such as a merchant that is no longer configured,
 * need a person.
 */
export function decideRefund(answer: RefundAnswer, waitedMs: number): RefundDecision {
  switch (answer.type) {
    case 'REFUNDED':
      return { type: 'refunded', refundId: answer.refundId };
    case 'PENDING':
      return retry('the provider is working on the refund', pendingMs(waitedMs));
    case 'UNKNOWN':
      return waitForAnswer(answer, waitedMs);
    // Both need a person, so they count: the refund is parked with the reason and an alert.
    case 'REJECTED':
      return { type: 'retry', counted: true, reason: `the provider rejects the refund: ${answer.reason}` };
    case 'NO_PROVIDER':
      return { type: 'retry', counted: true, reason: answer.reason };
    default:
      return assertNever(answer);
  }
}

/**
 * Pure: decides about a refund that was done when the provider reported a change. `waitedMs`: since the first question. Banks return some
 * refunds after days, for example to a card that no longer exists.
 */
export function decideCheck(answer: RefundAnswer, waitedMs: number): CheckDecision {
  if (answer.type === 'REJECTED') return { type: 'failed', reason: answer.reason };
  const decision = decideRefund(answer, waitedMs);
  if (decision.type === 'retry') return decision;
  return waitedMs < DOUBT_MS ? retry('the provider still confirms the refund', DOUBT_MS) : { type: 'stands' };
}

function waitForAnswer(
  { reason, retryAfterMs = 0, paused }: Extract<RefundAnswer, { type: 'UNKNOWN' }>,
  waitedMs: number,
): Extract<RefundDecision, { type: 'retry' }> {
  const wait = retry(reason, Math.max(unknownMs(waitedMs), Math.min(retryAfterMs, MINUTE)));
  if (paused) return { ...wait, unasked: true };
  return waitedMs > MAX_DEFER_MS ? { type: 'retry', counted: true, reason } : wait;
}

/** Cards take seconds, bank accounts take days. */
function pendingMs(waitedMs: number): number {
  if (waitedMs < MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? MINUTE : 10 * MINUTE;
}

/**
 * The recovery of a provider must be noticed within seconds, but a provider that stays unavailable must not be flooded.
 */
function unknownMs(waitedMs: number): number {
  if (waitedMs < 5 * MINUTE) return 5 * SECOND;
  return waitedMs < HOUR ? 15 * SECOND : MINUTE;
}

function retry(reason: string, afterMs: number): Extract<RefundDecision, { type: 'retry' }> {
  return { type: 'retry', counted: false, reason, afterMs };
}
