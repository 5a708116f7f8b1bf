import { REQUEST_SCHEMAS } from '../../api/amqp';
import { type Message } from './message';

/** Every request that the service answers. Requests only read, and need `reply_to`. */
export const REQUESTS: Readonly<Record<keyof typeof REQUEST_SCHEMAS, Message>> = {
  'order.read': {
    name: 'OrderReadRequest',
    summary: 'Read an order',
    schema: REQUEST_SCHEMAS['order.read'],
    example: { orderId: 'o-1' },
  },
  'orders.read': {
    name: 'OrdersReadRequest',
    summary: 'List orders, newest first. Go on with `next` as `cursor` until it is null',
    schema: REQUEST_SCHEMAS['orders.read'],
    example: { status: ['PENDING'], merchantId: 'shop-1', expiresTo: '2030-03-01T13:00:00.000Z', limit: 50 },
  },
  'stock.read': {
    name: 'StockReadRequest',
    summary: 'Read the stock of a SKU',
    schema: REQUEST_SCHEMAS['stock.read'],
    example: { sku: 'apple' },
  },
};
