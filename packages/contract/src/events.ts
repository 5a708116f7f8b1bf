import { z } from 'zod';
import { type OrderEventType, TRANSITION_CAUSES } from '../../../src/orders';
import { unmatchedHandling, unmatchedReason } from './answers';
import { money, instant } from './json-schemas';

const PAYMENT = { provider: 'http', reference: 'o-1-1' };

const head = <Type extends EventType>(type: Type) => ({
  id: z.guid().describe('The same in every copy of the event, and the message_id'),
  type: z.literal(type),
  version: z.literal(1),
  occurredAt: instant,
});

/** Fields of the order at the time of the event. */
const order = {
  orderId: z.string(),
  merchantId: z.string(),
  orderVersion: z.int().describe('Grows with every change of the order'),
  amount: money,
  currency: z.string(),
  expiresAt: instant,
};

const cause = z.enum(TRANSITION_CAUSES);

/** Fields that say why the order changed. */
const why = { reason: z.string().nullable().describe('A code, or the text of the cancellation'), cause };

const ORDER = {
  orderId: 'o-1',
  merchantId: 'shop-1',
  orderVersion: 2,
  amount: 4_200,
  currency: 'EUR',
  expiresAt: '2030-03-01T12:30:00.000Z',
};

/** Every event that the service sends. A new event needs its entry here. */
export const EVENTS: Readonly<Record<EventType, Message>> = {
  'order.placed': event('order.placed', {
    name: 'OrderPlacedEvent',
    summary: 'Placed, by any way. Sent only where the policy `placedEvents` is `send`',
    fields: { ...order, cause },
    details: { ...ORDER, orderVersion: 1, cause: 'command' },
  }),
  'order.refused': event('order.refused', {
    name: 'OrderRefusedEvent',
    summary: 'The command `order.placed` was refused, and nothing of it was written',
    fields: {
      orderId: z.string().nullable().describe('Null: the command has no valid id'),
      merchantId: z.string().nullable().describe('Null: the command has no valid merchantId'),
      code: z.string().describe('A code of the HTTP API'),
      message: z.string().describe('A sentence with the values'),
      commandId: z.string().nullable().describe('The message_id of the command. Null: it has none'),
    },
    details: {
      orderId: 'o-1',
      merchantId: 'shop-1',
      code: 'OUT_OF_STOCK',
      message: 'not enough stock of apple (3 of 5)',
      commandId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
    },
  }),
  'order.expiring': event('order.expiring', {
    name: 'OrderExpiringEvent',
    summary: 'The deadline is near, as `reminderOffsetsMs` says',
    fields: { ...order, offsetMs: z.int().describe('Time before the deadline') },
    details: { ...ORDER, orderVersion: 1, offsetMs: 300_000 },
  }),
  'order.closing': changed(
    'order.closing',
    'OrderClosingEvent',
    'Attempts are being closed at their providers; no new attempt is accepted',
    { reason: 'expired', cause: 'message' },
  ),
  'order.closed': changed('order.closed', 'OrderClosedEvent', 'Not paid in time; the stock is released', {
    reason: 'expired',
    cause: 'message',
  }),
  'order.cancelled': changed('order.cancelled', 'OrderCancelledEvent', 'Canceled; the stock is released', {
    reason: 'the buyer changed their mind',
    cause: 'command',
  }),
  'order.paid': changed('order.paid', 'OrderPaidEvent', 'Paid; the stock is sold', {
    reason: 'reported',
    cause: 'api',
  }),
  'order.payment_late': event('order.payment_late', {
    name: 'OrderPaymentLateEvent',
    summary: 'There is an unmatched payment',
    fields: {
      orderId: z.string().nullable().describe('Null: unknown'),
      provider: z.string(),
      reference: z.string(),
      merchantAccount: z.string().exactOptional(),
      amount: money,
      currency: z.string(),
      reason: unmatchedReason,
      handling: unmatchedHandling,
    },
    details: { orderId: 'o-1', ...PAYMENT, amount: 4_200, currency: 'EUR', reason: 'late', handling: 'kept' },
  }),
  'order.refunding': changed(
    'order.refunding',
    'OrderRefundingEvent',
    'The order ended without payment, and money for it goes back',
    { reason: 'late', cause: 'notify' },
  ),
  'order.refunded': event('order.refunded', {
    name: 'OrderRefundedEvent',
    summary: 'The money of one attempt is back',
    fields: {
      ...order,
      ...why,
      refundNumber: z.string(),
      refundId: z.string(),
      provider: z.string(),
      reference: z.string(),
      refundedAmount: money,
      refundedCurrency: z.string(),
    },
    details: {
      ...ORDER,
      orderVersion: 4,
      refundNumber: 'r-1',
      refundId: 're_1',
      ...PAYMENT,
      refundedAmount: 4_200,
      refundedCurrency: 'EUR',
      reason: 'late',
      cause: 'message',
    },
  }),
  'timeout.parked': event('timeout.parked', {
    name: 'TimeoutParkedEvent',
    summary: 'A timeout was parked after its attempts; a person has to look',
    fields: {
      kind: z.string(),
      key: z.string(),
      generation: z.string().describe('Decimal digits'),
      attempts: z.int(),
      reason: z.string(),
    },
    details: {
      kind: 'order.payment',
      key: 'o-1',
      generation: '17',
      attempts: 12,
      reason: 'the provider does not respond',
    },
  }),
};

type EventType = OrderEventType | 'timeout.parked';

type Details = Readonly<Record<string, unknown>>;

/** What an event adds to the fields that every event has. */
interface EventParts {
  readonly name: string;
  readonly summary: string;
  readonly fields: z.ZodRawShape;
  readonly details: Details;
}

/** An event of this type. */
function event(type: EventType, { name, summary, fields, details }: EventParts): Message {
  const common = {
    id: '0199d5a0-3c1e-7d4a-9a53-0d2b8a4c6f10',
    type,
    version: 1,
    occurredAt: '2030-03-01T12:30:00.012Z',
  };
  return { name, summary, schema: z.object({ ...head(type), ...fields }), example: { ...common, ...details } };
}

/** An event about a change of an order. @param details of the example. */
function changed(type: EventType, name: string, summary: string, details: Details): Message {
  return event(type, { name, summary, fields: { ...order, ...why }, details: { ...ORDER, ...details } });
}

/** A message of the contract. */
export interface Message {
  /** Name of its type in generated clients. */
  readonly name: string;
  readonly summary: string;
  readonly schema: z.ZodType;
  /** A body as it is on the wire, for the documents and for tests. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** Messages by routing key. */
export type Messages = Readonly<Record<string, Message>>;
