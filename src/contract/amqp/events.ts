import { z } from 'zod';
import { type OrderEventType, TRANSITION_CAUSES } from '../../orders';
import { unmatchedHandling, unmatchedReason } from '../http/answers/unmatched-payment-answer';
import { instant } from '../schema/instant';
import { money } from '../schema/money';
import { type Message } from './message';

type EventType = OrderEventType | 'timeout.parked';

const envelope = <Type extends EventType>(type: Type) => ({
  id: z.guid().describe('The same in every copy of the event, and the message_id'),
  type: z.literal(type),
  version: z.literal(1),
  occurredAt: instant,
});

const order = {
  orderId: z.string(),
  merchantId: z.string(),
  orderVersion: z.int().describe('Grows with every change of the order'),
  amount: money,
  currency: z.string(),
  expiresAt: instant,
};

const why = {
  reason: z.string().nullable().describe('A code, or the text of the cancellation'),
  cause: z.enum(TRANSITION_CAUSES),
};

const of = <Shape extends z.ZodRawShape>(type: EventType, shape: Shape) => z.object({ ...envelope(type), ...shape });

const exampleOf = (type: EventType, details: Readonly<Record<string, unknown>>) => ({
  id: '0199d5a0-3c1e-7d4a-9a53-0d2b8a4c6f10',
  type,
  version: 1,
  occurredAt: '2030-03-01T12:30:00.012Z',
  ...details,
});

const ORDER = {
  orderId: 'o-1',
  merchantId: 'shop-1',
  orderVersion: 2,
  amount: 4_200,
  currency: 'EUR',
  expiresAt: '2030-03-01T12:30:00.000Z',
};

const PAYMENT = { provider: 'http', reference: 'o-1-1' };

const changed = (type: EventType, name: string, summary: string, reason: string, cause = 'message'): Message => ({
  name,
  summary,
  schema: of(type, { ...order, ...why }),
  example: exampleOf(type, { ...ORDER, reason, cause }),
});

/** Every event that the service sends. A new event needs its entry here. */
export const EVENTS: Readonly<Record<EventType, Message>> = {
  'order.expiring': {
    name: 'OrderExpiringEvent',
    summary: 'The deadline is near, as `reminderOffsetsMs` says',
    schema: of('order.expiring', { ...order, offsetMs: z.int().describe('Time before the deadline') }),
    example: exampleOf('order.expiring', { ...ORDER, orderVersion: 1, offsetMs: 300_000 }),
  },
  'order.closing': changed(
    'order.closing',
    'OrderClosingEvent',
    'Attempts are being closed at their providers; no new attempt is accepted',
    'expired',
  ),
  'order.closed': changed('order.closed', 'OrderClosedEvent', 'Not paid in time; the stock is released', 'expired'),
  'order.cancelled': changed(
    'order.cancelled',
    'OrderCancelledEvent',
    'Canceled; the stock is released',
    'the buyer changed their mind',
    'command',
  ),
  'order.paid': changed('order.paid', 'OrderPaidEvent', 'Paid; the stock is sold', 'reported', 'api'),
  'order.payment_late': {
    name: 'OrderPaymentLateEvent',
    summary: 'There is an unmatched payment',
    schema: of('order.payment_late', {
      orderId: z.string().nullable().describe('Null: unknown'),
      provider: z.string(),
      reference: z.string(),
      merchantAccount: z.string().exactOptional(),
      amount: money,
      currency: z.string(),
      reason: unmatchedReason,
      handling: unmatchedHandling,
    }),
    example: exampleOf('order.payment_late', {
      orderId: 'o-1',
      ...PAYMENT,
      amount: 4_200,
      currency: 'EUR',
      reason: 'late',
      handling: 'kept',
    }),
  },
  'order.refunding': changed(
    'order.refunding',
    'OrderRefundingEvent',
    'The order ended without payment, and money for it goes back',
    'late',
    'notify',
  ),
  'order.refunded': {
    name: 'OrderRefundedEvent',
    summary: 'The money of one attempt is back',
    schema: of('order.refunded', {
      ...order,
      ...why,
      refundNumber: z.string(),
      refundId: z.string(),
      provider: z.string(),
      reference: z.string(),
      refundedAmount: money,
      refundedCurrency: z.string(),
    }),
    example: exampleOf('order.refunded', {
      ...ORDER,
      orderVersion: 4,
      refundNumber: 'r-1',
      refundId: 're_1',
      ...PAYMENT,
      refundedAmount: 4_200,
      refundedCurrency: 'EUR',
      reason: 'late',
      cause: 'message',
    }),
  },
  'timeout.parked': {
    name: 'TimeoutParkedEvent',
    summary: 'A timeout was parked after its attempts; a person has to look',
    schema: of('timeout.parked', {
      kind: z.string(),
      key: z.string(),
      generation: z.string().describe('Decimal digits'),
      attempts: z.int(),
      reason: z.string(),
    }),
    example: exampleOf('timeout.parked', {
      kind: 'order.payment',
      key: 'o-1',
      generation: '17',
      attempts: 12,
      reason: 'the provider does not respond',
    }),
  },
};
