import { type EntityManager } from 'typeorm';
import { checkRequest } from '../input/check-new-order';
import { type LockedOrderContext, type OrderTransaction } from '../order-transaction';
import { type Order } from '../order';
import { type OrderPolicies } from '../order-policies';
import { allTimeouts, deadlineTimeouts } from '../order-timeouts';
import { type OrderView } from '../order-view';
import { AmendOrder } from '../sql/amend-order';
import { NotedActions } from '../sql/noted-actions';
import { type ActionOptions } from '../action-options';
import { type ActionContext, contextOf } from '../transition-cause';

/** Moves the deadline to `expiresAt`, or by `byMs` from its current value (negative: earlier). Give exactly one. */
export interface NewDeadline {
  readonly orderId: string;
  readonly expiresAt?: Date | undefined;
  readonly byMs?: number | undefined;
  readonly reason?: string | undefined;
}

export type ExtendDeadlineResult =
  | { readonly outcome: 'extended'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' | 'ORDER_NOT_PENDING' }
  /** The payment window, counted from placing the order, would exceed the merchant's maximum. */
  | { readonly outcome: 'rejected'; readonly code: 'DEADLINE_OUT_OF_RANGE'; readonly latest: Date };

/** `already-extended`: by an earlier call with the same action id. */
export type ExtendOnceResult = ExtendDeadlineResult | { readonly outcome: 'already-extended' };

/**
 * Extends or shortens the deadline of an order that is PENDING, even if it is overdue. The time limits that providers
 * were given do not change, so a buyer with an old payment page may need a new attempt.
 */
export class ExtendDeadline {
  private readonly amend: AmendOrder;
  private readonly moves: NotedActions;

  constructor(
    private readonly transaction: OrderTransaction,
    private readonly policies: OrderPolicies,
  ) {
    this.amend = new AmendOrder(transaction.schema);
    this.moves = new NotedActions(transaction.schema);
  }

  /** @throws InvalidOrderError if the deadline is invalid. */
  async execute(deadline: NewDeadline, options: ActionOptions = {}): Promise<ExtendDeadlineResult> {
    checkRequest('deadline', deadline);
    return this.run(deadline, options, (locked, by) => this.move(locked, deadline, by));
  }

  /** Like `execute`, but only once for each order and `actionId`, which the history keeps. */
  async executeOnce(deadline: NewDeadline, actionId: string, options: ActionOptions): Promise<ExtendOnceResult> {
    return this.run<ExtendOnceResult>(deadline, options, async (locked, by) => {
      const isDone = await this.moves.has(locked.tx, deadline.orderId, actionId);
      return isDone ? { outcome: 'already-extended' } : this.move(locked, deadline, by, { actionId });
    });
  }

  private run<T extends ExtendOnceResult>(
    deadline: NewDeadline,
    { by, tx }: ActionOptions,
    move: (locked: LockedOrderContext, by: ActionContext) => Promise<T | ExtendDeadlineResult>,
  ): Promise<T | ExtendDeadlineResult> {
    return this.transaction.withOrder<T | ExtendDeadlineResult>(
      deadline.orderId,
      tx,
      (locked) => move(locked, contextOf(by)),
      () => ({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' }),
    );
  }

  private async move(
    locked: LockedOrderContext,
    deadline: NewDeadline,
    by: ActionContext,
    action: { readonly actionId?: string } = {},
  ): Promise<ExtendDeadlineResult> {
    const { tx, order, now } = locked;
    if (order.status !== 'PENDING') return { outcome: 'rejected', code: 'ORDER_NOT_PENDING' };
    const expiresAt = deadline.expiresAt ?? new Date(order.expiresAt.getTime() + (deadline.byMs ?? 0));
    const latest = new Date(order.createdAt.getTime() + this.policies.of(order.merchantId).maxPaymentWindowMs);
    if (expiresAt > latest) return { outcome: 'rejected', code: 'DEADLINE_OUT_OF_RANGE', latest };
    const evidence = { from: order.expiresAt.toISOString(), to: expiresAt.toISOString(), ...action };
    const reason = deadline.reason ?? 'deadline moved';
    const moved = await this.amend.execute(tx, order, { expiresAt }, { by, reason, evidence });
    await this.reschedule(tx, moved, now, by);
    return { outcome: 'extended', order: await this.transaction.view(tx, order.id) };
  }

  private async reschedule(tx: EntityManager, order: Order, now: Date, by: ActionContext): Promise<void> {
    const { scheduler } = this.transaction;
    const wanted = deadlineTimeouts(order, now, by.traceparent);
    const keys = new Set(wanted.map((timeout) => timeout.key));
    await scheduler.cancel(
      allTimeouts(order).filter((ref) => !keys.has(ref.key)),
      { tx },
    );
    await scheduler.schedule(wanted, { tx });
  }
}
