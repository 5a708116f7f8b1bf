import { Injectable } from '@nestjs/common';
import { applyStep, type LockedOrderContext, OrderTransaction } from '../sql/order-transaction';
import { checkRequest } from '../input/check-input';
import { PaymentWatch } from '../unmatched/payment-watch';
import { allTimeouts, paymentTimeout } from '../model/order-timeouts';
import {
  type OrderView,
  type LockedOrder,
  isUndecided,
  type OrderStatus,
  canTakeMoney,
  type PaymentAttempt,
  withStatus,
} from '../model/order';
import { transition, type OperatorOptions, type ActionContext, byOperator } from '../model/transition';
import { decideWithoutOpenAttempts, type MoneyRefusal, refuseMoney } from '../model/decide-closing';

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

interface Why {
  readonly by: ActionContext;
  readonly reason: string;
}

/** Closes an unpaid order now, whatever its deadline and `autoClose`, and even if its timeout is parked. Idempotent. */
@Injectable()
export class CloseOrder {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly watch: PaymentWatch,
  ) {}

  /** @throws InvalidOrderError if the request is invalid. */
  async execute(request: ManualClose, { by, tx }: OperatorOptions = {}): Promise<CloseOrderResult> {
    checkRequest('close', request);
    const { orderId, reason, attemptsAreClosed = false } = request;
    const result = await this.transaction.withOrder<CloseOrderResult>(orderId, tx, (locked) =>
      this.decide(locked, attemptsAreClosed, { by: byOperator(by), reason }),
    );
    // Inside a caller's transaction, nothing can be woken before its commit.
    if (result.outcome === 'closing' && !tx) this.transaction.scheduler.wake([paymentTimeout(orderId)], 'operator');
    return result;
  }

  private async decide(locked: LockedOrderContext, attemptsAreClosed: boolean, why: Why): Promise<CloseOrderResult> {
    const { tx, order } = locked;
    const waiting = await this.transaction.store.contested.confirmedOf(tx, order.id);
    const decision = decideManualClose(order, attemptsAreClosed, waiting);
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
    await this.transaction.decideNow(tx, order.id);
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
    await store.writeAttempts(
      tx,
      changed.map((attempt) => ({ attempt, evidence })),
    );
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
  /** `declared`: attempts that the operator has seen closed at their providers. */
  | { readonly type: 'close'; readonly to: 'CLOSED' | 'CANCELLED'; readonly declared: readonly PaymentAttempt[] }
  /** Providers must close attempts first. */
  | { readonly type: 'look-up' }
  | { readonly type: 'already-closed' }
  | { readonly type: 'refuse'; readonly refusal: ManualCloseRefusal };

/**
 * Pure: decides what an operator's close does to a locked order.
 *
 * @param attemptsAreClosed the operator's declaration.
 * @param waiting confirmed money that names the order and waits for a person.
 */
export function decideManualClose(
  order: LockedOrder,
  attemptsAreClosed: boolean,
  waiting: MoneyRefusal['payments'] = [],
): ManualCloseDecision {
  if (order.status === 'CLOSED') return { type: 'already-closed' };
  if (!isUndecided(order.status)) return refuse({ code: 'ORDER_NOT_CLOSABLE', status: order.status });
  const decision = decideWithoutOpenAttempts(order, 'keep');
  if (decision.type !== 'close' || waiting.length > 0) return refuse(refuseMoney(order, waiting));
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
