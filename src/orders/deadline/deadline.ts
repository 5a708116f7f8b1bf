import { type EntityManager } from 'typeorm';
import { Injectable } from '@nestjs/common';
import { type OutboxEntry } from '../../outbox';
import { DONE, type DueTimeout, TimeoutHandler, type TimeoutHandlerBatch, type TimeoutOutcome } from '../../timeouts';
import { checkRequest } from '../input/check-input';
import { type LockedOrderContext, OrderTransaction } from '../sql/order-transaction';
import { type Order, type OrderView, type LockedOrder } from '../model/order';
import { OrderPolicies } from '../model/order-policies';
import {
  busyOutcome,
  remindsAt,
  allTimeouts,
  deadlineTimeouts,
  parseReminderKey,
  paymentTimeout,
  OWN_LIMITS,
  ORDER_REMINDER,
} from '../model/order-timeouts';
import { isActionNoted } from '../sql/order-rows';
import { type ActionOptions, type ActionContext, contextOf, orderEvent } from '../model/transition';
import { insufficientParts } from '../model/money';
import { OrderEventLog } from '../listeners/order-listeners';
import { OrderStore } from '../sql/order-store';
import { type LockedBatch } from '../sql/lock-orders';

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
type ExtendOnceResult = ExtendDeadlineResult | { readonly outcome: 'already-extended' };

/** Whether an order closes automatically. */
export interface AutoCloseChange {
  readonly orderId: string;
  readonly enabled: boolean;
  /** For the history. */
  readonly reason?: string | undefined;
}

export type SetAutoCloseResult =
  | { readonly outcome: 'set'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' | 'ORDER_NOT_PENDING' };

/** Moves the deadlines of orders, and turns them off and on. */
@Injectable()
export class Deadlines {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly policies: OrderPolicies,
  ) {}

  /**
   * Extends or shortens the deadline of an order that is PENDING, even if it is overdue. The time limits that providers
   * were given do not change, so a buyer with an old payment page may need a new attempt.
   *
   * @throws InvalidOrderError if the deadline is invalid.
   */
  async extend(deadline: NewDeadline, options: ActionOptions = {}): Promise<ExtendDeadlineResult> {
    checkRequest('deadline', deadline);
    return this.run(deadline, options, (locked, by) => this.move(locked, deadline, by));
  }

  /** Like `extend`, but only once for each order and `actionId`, which the history keeps. */
  async extendOnce(deadline: NewDeadline, actionId: string, options: ActionOptions): Promise<ExtendOnceResult> {
    return this.run<ExtendOnceResult>(deadline, options, async (locked, by) => {
      const isDone = await isActionNoted(locked.tx, this.transaction.database, deadline.orderId, actionId);
      return isDone ? { outcome: 'already-extended' } : this.move(locked, deadline, by, { actionId });
    });
  }

  private run<T extends ExtendOnceResult>(
    deadline: NewDeadline,
    { by, tx }: ActionOptions,
    move: (locked: LockedOrderContext, by: ActionContext) => Promise<T | ExtendDeadlineResult>,
  ): Promise<T | ExtendDeadlineResult> {
    return this.transaction.withOrder<T | ExtendDeadlineResult>(deadline.orderId, tx, (locked) =>
      move(locked, contextOf(by)),
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
    const moved = await this.transaction.amend(tx, order, { expiresAt }, { by, reason, evidence });
    await this.reschedule(tx, moved, now, by);
    // A part that was adopted just now would wait for a decision that nothing makes.
    if (!order.autoClose) await this.tellOfParts(locked, by);
    return { outcome: 'extended', order: await this.transaction.view(tx, order.id) };
  }

  private async reschedule(tx: EntityManager, order: Order, now: Date, by: ActionContext): Promise<void> {
    const { scheduler } = this.transaction;
    const wanted = deadlineTimeouts(order, now, by.traceparent);
    const keys = new Set(wanted.map((timeout) => timeout.key));
    const outdated = allTimeouts(order).filter((ref) => !keys.has(ref.key));
    await scheduler.cancel(outdated, { tx });
    await scheduler.schedule(wanted, { tx });
  }

  /**
   * Turns auto-close off or on for one order. Turned on again, an overdue order closes immediately.
   *
   * @throws InvalidOrderError if the request is invalid.
   */
  async setAutoClose(request: AutoCloseChange, { by, tx }: ActionOptions = {}): Promise<SetAutoCloseResult> {
    checkRequest('autoClose', request);
    return this.transaction.withOrder<SetAutoCloseResult>(request.orderId, tx, (locked) =>
      this.set(locked, request, contextOf(by)),
    );
  }

  /** From now on, no deadline decides about the order or about a partial payment. */
  private async leaveToPerson(locked: LockedOrderContext, by: ActionContext): Promise<void> {
    await this.transaction.scheduler.cancel([paymentTimeout(locked.order.id)], { tx: locked.tx });
    await this.tellOfParts(locked, by);
  }

  private tellOfParts({ tx, order, now }: LockedOrderContext, { traceparent }: ActionContext): Promise<void> {
    return this.transaction.store.keepUnmatched(tx, insufficientParts(order, { handling: 'kept', now, traceparent }));
  }

  private async set(
    { tx, order, now }: LockedOrderContext,
    { enabled, reason = enabled ? 'auto-close on' : 'auto-close off' }: AutoCloseChange,
    by: ActionContext,
  ): Promise<SetAutoCloseResult> {
    if (order.status !== 'PENDING') return { outcome: 'rejected', code: 'ORDER_NOT_PENDING' };
    if (order.autoClose !== enabled) {
      const why = { by, reason, evidence: { autoClose: enabled } };
      const amended = await this.transaction.amend(tx, order, { autoClose: enabled }, why);
      if (enabled) await this.transaction.scheduler.schedule(deadlineTimeouts(amended, now, by.traceparent), { tx });
      else await this.leaveToPerson({ tx, order, now }, by);
    }
    return { outcome: 'set', order: await this.transaction.view(tx, order.id) };
  }
}

interface Reminder {
  readonly outcome: TimeoutOutcome;
  readonly event?: OutboxEntry;
}

/**
 * Sends `order.expiring` before the deadline of an order that waits for its buyer. It is sent once per offset and
 * deadline, because the timeout ends in the transaction that appends the event. A moved deadline is announced again.
 */
@Injectable()
@TimeoutHandler(ORDER_REMINDER, OWN_LIMITS)
export class RemindBeforeDeadline implements TimeoutHandlerBatch {
  constructor(
    private readonly store: OrderStore,
    private readonly events: OrderEventLog,
  ) {}

  async handleBatch(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const ids = [...new Set(due.map((timeout) => parseReminderKey(timeout.key).orderId))];
    const batch = await this.store.lock(tx, ids, 'skip-locked');
    const reminders = due.map((timeout) => remind(timeout, batch));
    const events = reminders.flatMap((reminder) => reminder.event ?? []);
    await this.events.append(tx, events);
    return reminders.map((reminder) => reminder.outcome);
  }
}

function remind(due: DueTimeout, batch: LockedBatch): Reminder {
  const { orderId, offsetMs } = parseReminderKey(due.key);
  const order = batch.orders.get(orderId);
  if (!order) return { outcome: batch.busy.has(orderId) ? busyOutcome(due, batch.now) : DONE };
  if (!isWorthReminding(order, batch.now)) return { outcome: DONE };
  const dueAt = remindsAt(order.expiresAt, offsetMs);
  if (batch.now < dueAt) return { outcome: { type: 'reschedule', dueAt } };
  const details = { offsetMs };
  return {
    outcome: DONE,
    event: orderEvent('order.expiring', order, order.version, batch.now, details, due.traceparent),
  };
}

/** A reminder that is delayed until after the deadline would ask the buyer for a payment that is no longer possible. */
function isWorthReminding(order: LockedOrder, now: Date): boolean {
  return order.status === 'PENDING' && now < order.expiresAt;
}
