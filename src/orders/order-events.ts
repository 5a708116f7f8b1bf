import { uuidv7 } from 'uuidv7';
import { type OutboxEntry } from '../outbox';
import { type Order } from './order';
import { type OrderStatus } from './order-status';

/** The order events, by routing key. Their bodies are a public contract: add fields, but never rename them. */
export const ORDER_EVENT_TYPES = [
  'order.placed',
  'order.refused',
  'order.expiring',
  'order.closing',
  'order.closed',
  'order.cancelled',
  'order.paid',
  'order.payment_late',
  'order.refunding',
  'order.refunded',
] as const;

export type OrderEventType = (typeof ORDER_EVENT_TYPES)[number];

/** Details of a transition in addition to the order itself. */
export interface EventDetails {
  readonly [key: string]: string | number | boolean | null | undefined;
}

/** The event of each status. Statuses without an entry send none. */
export const EVENT_OF_STATUS: Partial<Record<OrderStatus, OrderEventType>> = {
  CLOSING: 'order.closing',
  CLOSED: 'order.closed',
  CANCELLED: 'order.cancelled',
  PAID: 'order.paid',
  REFUNDING: 'order.refunding',
  CLOSED_REFUNDED: 'order.refunded',
};

/** @param version the order's version after the reported change. @param now the database's time in this transaction. */
export function orderEvent(
  type: OrderEventType,
  order: Order,
  version: number,
  now: Date,
  details: EventDetails = {},
  traceparent?: string,
): OutboxEntry {
  const body = {
    orderId: order.id,
    merchantId: order.merchantId,
    orderVersion: version,
    amount: Number(order.amount),
    currency: order.currency,
    expiresAt: order.expiresAt.toISOString(),
    ...details,
  };
  return outboxEvent(type, body, now, traceparent);
}

/** An event that belongs to no stored order: about money without one, or about an order that was refused. */
export function outboxEvent(
  type: OrderEventType,
  details: Record<string, unknown>,
  now: Date,
  traceparent?: string,
): OutboxEntry {
  const id = uuidv7();
  const body = { id, type, version: 1, occurredAt: now.toISOString(), ...details };
  return { id, route: 'event', routingKey: type, body, ...(traceparent === undefined ? {} : { traceparent }) };
}
