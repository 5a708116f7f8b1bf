import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { applyStep, type LockedOrderContext, OrderTransaction, type Why } from '../sql/order-transaction';
import { checkRequest } from '../input/check-input';
import { NoteUnmatchedMoney } from '../unmatched/note-unmatched-money';
import { PaymentWatch } from '../unmatched/payment-watch';
import {
  isUndecided,
  type OrderStatus,
  type OrderView,
  type LockedOrder,
  canTakeMoney,
  type PaymentAttempt,
  withStatus,
} from '../model/order';
import { allTimeouts, paymentTimeout } from '../model/order-timeouts';
import {
  transition,
  type ActionOptions,
  type ActionContext,
  contextOf,
  type OperatorOptions,
  byOperator,
} from '../model/transition';
import {
  type MoneyRefusal,
  refundsOfCancellation,
  refuseMoney,
  decideWithoutOpenAttempts,
} from '../model/plan-closing';

/** Which order to cancel, and why. */
export interface Cancellation {
  readonly orderId: string;
  /** For the history and the event. @default 'cancelled' */
  readonly reason?: string | undefined;
}

/**
 * - `cancelling`: attempts must be closed at their providers first, or money must be refunded. The order is CLOSING and
 *   becomes CANCELLED, or PAID if the buyer pays before that.
 * - `ORDER_HAS_MONEY`: the order has enough money, or a part that is not refunded automatically: only a report vouches
 *   for it, its attempt was not registered, another order counts on it, too, or the buyer's bank takes or took it back. Or
 *   confirmed money that names the order waits for a person. Nothing was changed.
 */
export type CancelOrderResult =
  | { readonly outcome: 'cancelled' | 'cancelling' | 'already-cancelled'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_CANCELLABLE'; readonly status: OrderStatus }
  | ({ readonly outcome: 'rejected' } & MoneyRefusal);

/** Which order to close, and why. */
export interface ManualClose {
  readonly orderId: string;
  readonly reason: string;
  /**
   * The operator has checked at the providers that no attempt of the order can be paid, so they are not looked up. They
   * are still watched afterward, like those of every closed order. @default false
   */
  readonly attemptsAreClosed?: boolean | undefined;
}

/**
 * The result of a manual close.
 * - `closing`: attempts must be closed at their providers first. The order becomes CLOSED, or PAID if the buyer pays
 *   before that.
 * - `closed`: an order whose cancellation was in progress is CANCELLED.
 */
export type CloseOrderResult =
  | { readonly outcome: 'closed' | 'closing' | 'already-closed'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | ({ readonly outcome: 'rejected' } & ManualCloseRefusal);

/** Ends orders before their deadline: cancels them, or closes them by hand. */
@Injectable()
export class EndOrder {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly watch: PaymentWatch,
    private readonly found: NoteUnmatchedMoney,
  ) {}

  /**
   * For the buyer or the shop. If it is paid in part, the part is refunded.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  async cancel(request: Cancellation, { by, tx }: ActionOptions = {}): Promise<CancelOrderResult> {
    checkRequest('cancellation', request);
    const result = await this.transaction.withOrder<CancelOrderResult>(request.orderId, tx, (locked) =>
      this.decideCancel(locked, request.reason ?? 'cancelled', contextOf(by)),
    );
    // Inside a caller's transaction, nothing can be woken before its commit.
    if (result.outcome === 'cancelling' && !tx) this.transaction.scheduler.wake([paymentTimeout(request.orderId)]);
    return result;
  }

  private async decideCancel(
    locked: LockedOrderContext,
    reason: string,
    by: ActionContext,
  ): Promise<CancelOrderResult> {
    const { tx } = locked;
    const order = await this.withWaiting(locked);
    if (await this.needsPerson(tx, order)) return { outcome: 'rejected', ...refuseMoney(order) };
    switch (order.status) {
      case 'PENDING': {
        const isClear = order.attempts.every(({ status }) => status === 'CLOSED' || status === 'DUPLICATE');
        await (isClear ? this.endCancelled(locked, reason, by) : this.beginCancelling(locked, reason, by));
        return { outcome: isClear ? 'cancelled' : 'cancelling', order: await this.transaction.view(tx, order.id) };
      }
      case 'CLOSING':
        if (order.closingReason !== 'cancelled') await this.callOff(locked, reason, by);
        return { outcome: 'cancelling', order: await this.transaction.view(tx, order.id) };
      case 'CANCELLED':
        return { outcome: 'already-cancelled', order: await this.transaction.view(tx, order.id) };
      default:
        // Its cancellation has refunded a part.
        if (order.status !== 'PAID' && order.closingReason === 'cancelled')
          return { outcome: 'already-cancelled', order: await this.transaction.view(tx, order.id) };
        return { outcome: 'rejected', code: 'ORDER_NOT_CANCELLABLE', status: order.status };
    }
  }

  private async withWaiting({ tx, order }: LockedOrderContext): Promise<LockedOrder> {
    if (!isUndecided(order.status)) return order;
    return { ...order, waiting: await this.transaction.store.waitingFor(tx, [order]) };
  }

  /** Whether the order would be parked as CLOSING because of its money, or becomes PAID. */
  private async needsPerson(tx: EntityManager, order: LockedOrder): Promise<boolean> {
    if (!isUndecided(order.status)) return false;
    const returns = refundsOfCancellation(order);
    return !returns || (await this.found.unrefundable(tx, returns)).length > 0;
  }

  /** Its deadline had started the closing. A canceled order is not revived by a late payment. */
  private async callOff({ tx, order }: LockedOrderContext, reason: string, by: ActionContext): Promise<void> {
    const why = { by, reason, evidence: { closingReason: 'cancelled' } };
    await this.transaction.amend(tx, order, { closingReason: 'cancelled' }, why);
    // The closing may have been parked because of a part of the price, which is refunded now.
    await this.transaction.store.decideNow(tx, order.id);
  }

  private async endCancelled(locked: LockedOrderContext, reason: string, by: ActionContext): Promise<void> {
    await this.transaction.scheduler.cancel(allTimeouts(locked.order), { tx: locked.tx });
    // Lock timeout rows before stock; the transition ends with the stock.
    await this.watch.begin(locked.tx, [{ ...locked.order, status: 'CANCELLED' }], locked.now, by.traceparent);
    await this.write(locked, 'CANCELLED', reason, by);
  }

  private async beginCancelling(locked: LockedOrderContext, reason: string, by: ActionContext): Promise<void> {
    const { tx, order } = locked;
    const [, ...reminders] = allTimeouts(order);
    await this.transaction.scheduler.cancel(reminders, { tx });
    await this.transaction.store.decideNow(tx, order.id);
    await this.write(locked, 'CLOSING', reason, by);
  }

  private async write(
    { tx, order, now }: LockedOrderContext,
    to: 'CANCELLED' | 'CLOSING',
    reason: string,
    by: ActionContext,
  ): Promise<void> {
    const step = transition(order, to, { by, now, reason, closingReason: 'cancelled' });
    await applyStep(this.transaction.store, tx, step);
  }

  /**
   * Closes an unpaid order now, whatever its deadline and `autoClose`, and even if its timeout is parked. Idempotent.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  async close(request: ManualClose, { by, tx }: OperatorOptions = {}): Promise<CloseOrderResult> {
    checkRequest('close', request);
    const { orderId, reason, attemptsAreClosed = false } = request;
    const result = await this.transaction.withOrder<CloseOrderResult>(orderId, tx, (locked) =>
      this.decideClose(locked, attemptsAreClosed, { by: byOperator(by), reason }),
    );
    // Inside a caller's transaction, nothing can be woken before its commit.
    if (result.outcome === 'closing' && !tx) this.transaction.scheduler.wake([paymentTimeout(orderId)], 'operator');
    return result;
  }

  private async decideClose(
    locked: LockedOrderContext,
    attemptsAreClosed: boolean,
    why: Why,
  ): Promise<CloseOrderResult> {
    const { tx, order } = locked;
    const decision = decideManualClose(await this.withWaiting(locked), attemptsAreClosed);
    switch (decision.type) {
      case 'refuse':
        return { outcome: 'rejected', ...decision.refusal };
      case 'already-closed':
        return { outcome: 'already-closed', order: await this.transaction.view(tx, order.id) };
      case 'look-up':
        await this.beginClosing(locked, why);
        return { outcome: 'closing', order: await this.transaction.view(tx, order.id) };
      case 'close':
        await this.end(locked, decision, why);
        return { outcome: 'closed', order: await this.transaction.view(tx, order.id) };
    }
  }

  /** The usual pipeline does the rest. A parked timeout starts again. */
  private async beginClosing({ tx, order, now }: LockedOrderContext, { by, reason }: Why): Promise<void> {
    const [, ...reminders] = allTimeouts(order);
    await this.transaction.scheduler.cancel(reminders, { tx });
    await this.transaction.store.decideNow(tx, order.id);
    if (order.status === 'PENDING') {
      const details = { reason: 'operator' };
      const step = transition(order, 'CLOSING', { by, now, reason, closingReason: 'expired', details });
      return applyStep(this.transaction.store, tx, step);
    }
    await this.transaction.amend(tx, order, {}, { by, reason, evidence: { close: 'asked again' } });
  }

  private async end(
    { tx, order, now }: LockedOrderContext,
    { to, declared }: Extract<ManualCloseDecision, { type: 'close' }>,
    { by, reason }: Why,
  ): Promise<void> {
    const { store, scheduler } = this.transaction;
    const after = declareClosed(order, declared);
    const changed = after.attempts.filter((attempt) => !order.attempts.includes(attempt));
    const evidence = { declaredBy: by.actor ?? null, reason };
    const writes = changed.map((attempt) => ({ attempt, evidence }));
    await store.writeAttempts(tx, writes);
    await scheduler.cancel(allTimeouts(order), { tx });
    // Lock timeout rows before stock; the transition ends with the stock.
    await this.watch.begin(tx, [{ ...after, status: to }], now, by.traceparent);
    const attempts = declared.map(({ provider, reference }) => ({ provider, reference }));
    const step = {
      ...{ by, now, reason, details: { reason: to === 'CANCELLED' ? 'cancelled' : 'operator' } },
      closingReason: to === 'CANCELLED' ? ('cancelled' as const) : ('expired' as const),
      ...(attempts.length > 0 ? { evidence: { declaredClosed: attempts } } : {}),
    };
    await applyStep(store, tx, transition(order, to, step));
  }
}

/** Why an order cannot be closed manually. `ORDER_HAS_MONEY`: it is paid, fully or in part, or confirmed money waits. */
type ManualCloseRefusal = { readonly code: 'ORDER_NOT_CLOSABLE'; readonly status: OrderStatus } | MoneyRefusal;

type ManualCloseDecision =
  | { readonly type: 'close'; readonly to: 'CLOSED' | 'CANCELLED'; readonly declared: readonly PaymentAttempt[] }
  | { readonly type: 'look-up' }
  | { readonly type: 'already-closed' }
  | { readonly type: 'refuse'; readonly refusal: ManualCloseRefusal };

/** Pure: decides what an operator's close does to a locked order. @param attemptsAreClosed the operator's declaration. */
export function decideManualClose(order: LockedOrder, attemptsAreClosed: boolean): ManualCloseDecision {
  if (order.status === 'CLOSED') return { type: 'already-closed' };
  if (!isUndecided(order.status)) return refuse({ code: 'ORDER_NOT_CLOSABLE', status: order.status });
  const decision = decideWithoutOpenAttempts(order, 'keep');
  if (decision.type !== 'close') return refuse(refuseMoney(order));
  const open = order.attempts.filter(canTakeMoney);
  if (open.length > 0 && !attemptsAreClosed) return { type: 'look-up' };
  return { type: 'close', to: decision.to, declared: open };
}

function refuse(refusal: ManualCloseRefusal): ManualCloseDecision {
  return { type: 'refuse', refusal };
}

/** Pure: returns the order with these attempts closed. They stay under watch, because the declaration may be wrong. */
export function declareClosed(order: LockedOrder, declared: readonly PaymentAttempt[]): LockedOrder {
  const attempts = order.attempts.map((attempt) =>
    declared.includes(attempt) ? withStatus(attempt, 'CLOSED') : attempt,
  );
  return { ...order, attempts };
}
