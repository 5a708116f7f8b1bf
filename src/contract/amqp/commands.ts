import { attemptedSchema, cancelledSchema, paidSchema } from '../../api/amqp';
import { newDeadlineCommandSchema, newOrderSchema } from '../../orders/input';
import { type Messages } from './message';

/** Every command that the service takes. A new command needs its entry here. */
export const COMMANDS: Messages = {
  'order.placed': {
    name: 'OrderPlacedCommand',
    summary: 'Place an order',
    schema: newOrderSchema,
    example: {
      id: 'o-1',
      merchantId: 'shop-1',
      amount: 4_200,
      currency: 'EUR',
      paymentWindowMs: 1_800_000,
      lines: [{ sku: 'apple', quantity: 2, unitAmount: 2_100 }],
      metadata: { cart: 'c-77' },
    },
  },
  'payment.attempted': {
    name: 'PaymentAttemptedCommand',
    summary: 'Register a payment attempt',
    schema: attemptedSchema,
    example: { orderId: 'o-1', provider: 'http', reference: 'o-1-1', timeExpire: '2030-03-01T12:30:00.000Z' },
  },
  'order.paid': {
    name: 'OrderPaidCommand',
    summary: 'Report a payment. It is never rejected for the state of its order',
    schema: paidSchema,
    example: { orderId: 'o-1', provider: 'http', reference: 'o-1-1', amount: 4_200, currency: 'EUR' },
  },
  'order.extended': {
    name: 'OrderExtendedCommand',
    summary: 'Extend or shorten the deadline. Only `expiresAt` can be repeated safely',
    schema: newDeadlineCommandSchema,
    example: { orderId: 'o-1', expiresAt: '2030-03-01T13:00:00.000Z', reason: 'the buyer asked for it' },
  },
  'order.cancelled': {
    name: 'OrderCancelledCommand',
    summary: 'Cancel an order',
    schema: cancelledSchema,
    example: { orderId: 'o-1', reason: 'the buyer changed their mind' },
  },
};
