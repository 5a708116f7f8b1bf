import { COMMAND_SCHEMAS } from '../../api/amqp';
import { type Message } from './message';

/** Every command that the service takes. */
export const COMMANDS: Readonly<Record<keyof typeof COMMAND_SCHEMAS, Message>> = {
  'order.placed': {
    name: 'OrderPlacedCommand',
    summary: 'Place an order',
    schema: COMMAND_SCHEMAS['order.placed'],
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
    schema: COMMAND_SCHEMAS['payment.attempted'],
    example: { orderId: 'o-1', provider: 'http', reference: 'o-1-1', timeExpire: '2030-03-01T12:30:00.000Z' },
  },
  'order.paid': {
    name: 'OrderPaidCommand',
    summary: 'Report a payment. It is never rejected for the state of its order',
    schema: COMMAND_SCHEMAS['order.paid'],
    example: { orderId: 'o-1', provider: 'http', reference: 'o-1-1', amount: 4_200, currency: 'EUR' },
  },
  'order.extended': {
    name: 'OrderExtendedCommand',
    summary: 'Extend or shorten the deadline. Only `expiresAt` can be repeated safely',
    schema: COMMAND_SCHEMAS['order.extended'],
    example: { orderId: 'o-1', expiresAt: '2030-03-01T13:00:00.000Z', reason: 'the buyer asked for it' },
  },
  'order.cancelled': {
    name: 'OrderCancelledCommand',
    summary: 'Cancel an order',
    schema: COMMAND_SCHEMAS['order.cancelled'],
    example: { orderId: 'o-1', reason: 'the buyer changed their mind' },
  },
  'stock.changed': {
    name: 'StockChangedCommand',
    summary: 'Set the stock of a SKU, or add to it. Only `onHand` with `expected` can be repeated safely',
    schema: COMMAND_SCHEMAS['stock.changed'],
    example: { sku: 'apple', onHand: 15, expected: 10 },
  },
};
