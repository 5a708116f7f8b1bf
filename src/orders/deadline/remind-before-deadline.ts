import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type OutboxEntry } from '../../outbox';
import { DONE, type DueTimeout, TimeoutHandler, type TimeoutHandlerBatch, type TimeoutOutcome } from '../../timeouts';
import { busyOutcome } from '../busy-outcome';
import { type LockedOrder } from '../order';
import { type OrderEventLog } from '../order-event-log';
import { orderEvent } from '../order-events';
import { OrderStore } from '../sql/order-store';
import { type LockedBatch } from '../sql/lock-orders';
import { ORDER_REMINDER, parseReminderKey, remindsAt, OWN_LIMITS } from '../order-timeouts';

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
    private readonly events: Pick<OrderEventLog, 'append'>,
  ) {}

  async handleBatch(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const ids = [...new Set(due.map((timeout) => parseReminderKey(timeout.key).orderId))];
    const batch = await this.store.lock(tx, ids, 'skip-locked');
    const reminders = due.map((timeout) => remind(timeout, batch));
    await this.events.append(
      tx,
      reminders.flatMap((reminder) => reminder.event ?? []),
    );
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
