import { uuidv7 } from 'uuidv7';
import { type OutboxEntry } from '../../outbox';
import { type OrderDraft } from './order-draft';

/** The event `order.placed` of a new order, except for its times, which only the database knows. */
export interface PlacedEvent {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly traceparent: string | undefined;
}

interface Times {
  readonly occurredAt: Date;
  readonly expiresAt: Date;
}

export function placedEvent({ id: orderId, merchantId, amount, input, by }: OrderDraft): PlacedEvent {
  const id = uuidv7();
  const about = { id, type: 'order.placed', version: 1, orderId, merchantId, orderVersion: 1 };
  const body = { ...about, amount: Number(amount), currency: input.currency, cause: by.cause };
  return { id, body, traceparent: by.traceparent };
}

/** The complete event. */
export function placedEntry({ id, body, traceparent }: PlacedEvent, { occurredAt, expiresAt }: Times): OutboxEntry {
  const times = { occurredAt: occurredAt.toISOString(), expiresAt: expiresAt.toISOString() };
  const entry = { id, route: 'event', routingKey: 'order.placed', body: { ...body, ...times } } as const;
  return traceparent === undefined ? entry : { ...entry, traceparent };
}
