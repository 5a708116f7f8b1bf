import { type ScheduleTimeout, type TimeoutRef } from '../timeouts';
import { closesAt } from './close/decide-closing';
import { type Order } from './order';

/** Kind of the timeout that closes an order; its key is the order id. */
export const ORDER_PAYMENT = 'order.payment';
/** Kind of the reminders before the deadline; the key is order id and offset. */
export const ORDER_REMINDER = 'order.reminder';

/** Kind of the rounds after the end of an order; the key is its id. */
export const ORDER_LATE_WATCH = 'order.late-watch';
/** Kind of the refunds; the key is the refund number. */
export const PAYMENT_REFUND = 'payment.refund';

/**
 * For all handlers here. None pauses between two statements, so a frozen process keeps its locks for 5 s. Statements take
 * milliseconds; with 4 s, and 1 s for the answer, an order whose connection fell silent is decided within 5 s. A run takes less
 * than a second; one that hangs keeps one of the two lanes of its kind for 10 s.
 */
export const OWN_LIMITS = { idleTimeoutMs: 5_000, statementTimeoutMs: 4_000, runTimeoutMs: 10_000 } as const;

type Deadline = Pick<Order, 'id' | 'expiresAt' | 'graceMs' | 'autoClose' | 'reminderOffsetsMs'>;

/** Kind of the questions to providers about payments that notifications or reports spoke of; its key is the order id. */
export const PAYMENT_RECONCILIATION = 'payment.reconciliation';

/** The timeout that asks the providers of this order, and books what they say. */
export function reconcileTimeout(orderId: string): TimeoutRef {
  return { kind: PAYMENT_RECONCILIATION, key: orderId };
}

/** The timeout that closes this order. */
export function paymentTimeout(orderId: string): TimeoutRef {
  return { kind: ORDER_PAYMENT, key: orderId };
}

/** One reminder of this order. */
export function reminderTimeout(orderId: string, offsetMs: number): TimeoutRef {
  return { kind: ORDER_REMINDER, key: `${orderId}:${offsetMs}` };
}

/** Order id and offset in a reminder's key. Order ids may contain colons. */
export function parseReminderKey(key: string): { orderId: string; offsetMs: number } {
  const colon = key.lastIndexOf(':');
  return { orderId: key.slice(0, colon), offsetMs: Number(key.slice(colon + 1)) };
}

/** Everything that an order's deadline asks for. A reminder whose moment has passed at `now` is left out. */
export function deadlineTimeouts(order: Deadline, now: Date, traceparent?: string): ScheduleTimeout[] {
  const trace = traceparent === undefined ? {} : { traceparent };
  const close = { ...paymentTimeout(order.id), dueAt: closesAt(order), ...trace };
  const reminders = order.reminderOffsetsMs
    .map((offsetMs) => ({
      ...reminderTimeout(order.id, offsetMs),
      dueAt: remindsAt(order.expiresAt, offsetMs),
      ...trace,
    }))
    .filter(({ dueAt }) => dueAt > now);
  return order.autoClose ? [close, ...reminders] : reminders;
}

/** All timeouts that an order may have, to call them off. */
export function allTimeouts({ id, reminderOffsetsMs }: Pick<Deadline, 'id' | 'reminderOffsetsMs'>): TimeoutRef[] {
  return [paymentTimeout(id), ...reminderOffsetsMs.map((offsetMs) => reminderTimeout(id, offsetMs))];
}

/** When a reminder is due. */
export function remindsAt(expiresAt: Date, offsetMs: number): Date {
  return new Date(expiresAt.getTime() - offsetMs);
}
