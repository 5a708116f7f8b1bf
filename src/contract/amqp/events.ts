import { z } from 'zod';
import { unmatchedHandling, unmatchedReason } from '../http/answers/unmatched-payment-answer';
import { money } from '../schema/money';
import { cause, changed, event, type EventType, order, ORDER, why } from './event';
import { type Message } from './message';

const PAYMENT = { provider: 'http', reference: 'o-1-1' };

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
