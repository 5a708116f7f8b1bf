import { uuidv7 } from 'uuidv7';
import { type OrderDraft } from './order-draft';

/** The event `order.placed` of a new order, except for `occurredAt` and `expiresAt`. */
export function placedEvent({ id: orderId, merchantId, amount, input, by }: OrderDraft): { id: string; body: object } {
  const id = uuidv7();
  const about = { id, type: 'order.placed', version: 1, orderId, merchantId, orderVersion: 1 };
  return { id, body: { ...about, amount: Number(amount), currency: input.currency, cause: by.cause } };
}
