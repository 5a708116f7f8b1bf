import { contentionBackoffMs } from '../../database';
import { OWN_KIND, type DueTimeout, type ScheduleTimeout, type TimeoutOutcome, type TimeoutRef } from '../../timeouts';
import { type Order, closesAt } from './order';

/** Kind of the timeout that closes an order. Its key is the order id. */
export const ORDER_PAYMENT = 'order.payment';

/** Kind of the reminders before the deadline. The key consists of order id and offset. */
export const ORDER_REMINDER = 'order.reminder';

/** Kind of the payment watch after the end of an order. The key is the order id. */
export const ORDER_LATE_WATCH = 'order.late-watch';

/** Kind of the refunds. The key is the refund number. */
export const PAYMENT_REFUND = 'payment.refund';

/** Kind of the look-ups of payments that notifications or reports mentioned. Its key is the order id. */
export const PAYMENT_RECONCILIATION = 'payment.reconciliation';

/** The kinds of timeouts that orders have. Every instance handles all of them. */
export const ORDER_KINDS: readonly string[] = [
  ORDER_PAYMENT,
  ORDER_REMINDER,
  ORDER_LATE_WATCH,
  PAYMENT_REFUND,
  PAYMENT_RECONCILIATION,
];

/**
 * For all order handlers. None pauses between two statements, so a frozen process keeps its locks for 5 s at most.
 * Statements take milliseconds. With 4 s for a statement and 1 s for the answer, an order whose connection fell silent
 * is decided within 5 s. A run takes less than a second, and a run that hangs keeps one of the two lanes of its kind
 * for 10 s.
 */
export const OWN_LIMITS = {
  ...{ idleTimeoutMs: 5_000, statementTimeoutMs: 4_000, runTimeoutMs: 10_000 },
  [OWN_KIND]: true,
} as const;

export function reconcileTimeout(orderId: string): TimeoutRef {
  return { kind: PAYMENT_RECONCILIATION, key: orderId };
}

/** The timeout that asks the provider for this refund. `isCheck`: the provider has news of it, so it may have failed since. */
export function refundTimeout(number: string, isCheck = false): TimeoutRef & Pick<ScheduleTimeout, 'payload'> {
  return { kind: PAYMENT_REFUND, key: number, ...(isCheck ? { payload: { isCheck } } : {}) };
}

export function paymentTimeout(orderId: string): TimeoutRef {
  return { kind: ORDER_PAYMENT, key: orderId };
}

/** The timeouts that close these orders, due now. They decide about the orders as they are then. */
export function closingsNow(orderIds: readonly string[]): (TimeoutRef & { readonly afterMs: number })[] {
  return orderIds.map((id) => ({ ...paymentTimeout(id), afterMs: 0 }));
}

function reminderTimeout(orderId: string, offsetMs: number): TimeoutRef {
  return { kind: ORDER_REMINDER, key: `${orderId}:${offsetMs}` };
}

/** Splits a reminder's key into order id and offset. Order ids may contain colons. */
export function parseReminderKey(key: string): { orderId: string; offsetMs: number } {
  const colon = key.lastIndexOf(':');
  return { orderId: key.slice(0, colon), offsetMs: Number(key.slice(colon + 1)) };
}

/**
 * When an order that nothing closes is examined once after it may have missed money: of two transactions that run at the
 * same time, one that stores the money and one that places the order, neither sees the other. Nearly all are shorter.
 */
const CROSSED_MS = 10_000;

type Deadline = Pick<Order, 'id' | 'expiresAt' | 'graceMs' | 'autoClose' | 'reminderOffsetsMs'>;

/**
 * The timeout that books money which is already there, before any deadline.
 *
 * @param hasMoney whether it was found. Otherwise it may only have been missed, and the deadline finds it, if there is one.
 */
export function earlyMoneyTimeout(
  { id, autoClose }: Pick<Deadline, 'id' | 'autoClose'>,
  hasMoney: boolean,
  traceparent?: string,
): ScheduleTimeout[] {
  if (!hasMoney && autoClose) return [];
  const trace = traceparent === undefined ? {} : { traceparent };
  return [{ ...paymentTimeout(id), afterMs: hasMoney ? 0 : CROSSED_MS, ...trace }];
}

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

/** All timeouts that an order may have. Used to cancel them. */
export function allTimeouts({ id, reminderOffsetsMs }: Pick<Deadline, 'id' | 'reminderOffsetsMs'>): TimeoutRef[] {
  return [paymentTimeout(id), ...reminderOffsetsMs.map((offsetMs) => reminderTimeout(id, offsetMs))];
}

export function remindsAt(expiresAt: Date, offsetMs: number): Date {
  return new Date(expiresAt.getTime() - offsetMs);
}

/**
 * Another transaction has locked a row that the timeout needs. The service's own transactions are short, because none
 * waits for a remote answer. Others may be long, so the pause grows: a row that is locked for a minute is not tried 300
 * times.
 */
export function busyOutcome({ dueAt }: Pick<DueTimeout, 'dueAt'>, now: Date, what = 'the order row'): TimeoutOutcome {
  const afterMs = contentionBackoffMs(now.getTime() - dueAt.getTime(), Math.random());
  return { type: 'retry', counted: false, afterMs, reason: `${what} is locked` };
}
