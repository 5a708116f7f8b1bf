import { z } from 'zod';
import {
  type CancelOrderResult,
  type ExtendDeadlineResult,
  type MarkPaidResult,
  type PlaceResult,
  type RegisterAttemptResult,
} from '../../orders';
import { orderAnswer } from '../http/answers/order-answer';
import { orderListAnswer } from '../http/answers/order-list-answer';
import { paidAnswer } from '../http/answers/outcome-answers';
import { stockAnswer } from '../http/answers/stock-answer';
import { describes } from '../schema/describes';
import { type COMMANDS } from './commands';
import { type Message } from './message';
import { type REQUESTS } from './requests';

/** What a use case returns if it accepts, without the id, which the order has too. */
type Done<Result extends { readonly outcome: string }> = Omit<Exclude<Result, { outcome: 'rejected' }>, 'id'>;

const ORDER = {
  id: 'o-1',
  merchantId: 'shop-1',
  status: 'PENDING',
  version: 1,
  amount: 4_200,
  currency: 'EUR',
  expiresAt: '2030-03-01T12:30:00.000Z',
  expired: false,
  payable: true,
  autoClose: true,
  lines: [{ sku: 'apple', quantity: 2, unitAmount: 2_100 }],
  attempts: [],
  createdAt: '2030-03-01T12:00:00.000Z',
};
const STOCK = { sku: 'apple', onHand: 15, reserved: 2, available: 13 };

/** The answer to each command and request, by its routing key. */
export const ANSWERS: Readonly<Record<keyof typeof COMMANDS | keyof typeof REQUESTS, Message>> = {
  'order.placed': {
    name: 'OrderPlacedAnswer',
    summary: '`replayed`: the same order was placed before. This is how it is now',
    schema: describes<Done<PlaceResult>>()(z.object({ outcome: z.enum(['placed', 'replayed']), order: orderAnswer })),
    example: { outcome: 'placed', order: ORDER },
  },
  'payment.attempted': {
    name: 'PaymentAttemptedAnswer',
    summary: '`replayed`: the order has this attempt already',
    schema: describes<Done<RegisterAttemptResult>>()(
      z.object({ outcome: z.enum(['registered', 'replayed']), order: orderAnswer }),
    ),
    example: { outcome: 'registered', order: { ...ORDER, version: 2 } },
  },
  'order.paid': {
    name: 'OrderPaidAnswer',
    summary: 'What the payment did. `unknown-order`: it is kept as an unmatched payment',
    schema: describes<MarkPaidResult>()(z.union([paidAnswer, z.object({ outcome: z.literal('unknown-order') })])),
    example: { outcome: 'paid', order: { ...ORDER, status: 'PAID', version: 3, payable: false } },
  },
  'order.extended': {
    name: 'OrderExtendedAnswer',
    summary: 'The order with its new deadline',
    schema: describes<Done<ExtendDeadlineResult>>()(z.object({ outcome: z.literal('extended'), order: orderAnswer })),
    example: { outcome: 'extended', order: { ...ORDER, version: 2, expiresAt: '2030-03-01T13:00:00.000Z' } },
  },
  'order.cancelled': {
    name: 'OrderCancelledAnswer',
    summary: '`cancelling`: its attempts are being closed at their providers',
    schema: describes<Done<CancelOrderResult>>()(
      z.object({ outcome: z.enum(['cancelled', 'cancelling', 'already-cancelled']), order: orderAnswer }),
    ),
    example: { outcome: 'cancelled', order: { ...ORDER, status: 'CANCELLED', version: 2, payable: false } },
  },
  'stock.changed': { name: 'StockChangedAnswer', summary: 'The new stock', schema: stockAnswer, example: STOCK },
  'order.read': { name: 'OrderReadAnswer', summary: 'The order', schema: orderAnswer, example: ORDER },
  'orders.read': {
    name: 'OrdersReadAnswer',
    summary: 'A page of orders',
    schema: orderListAnswer,
    example: { orders: [ORDER], next: null },
  },
  'stock.read': { name: 'StockReadAnswer', summary: 'The stock', schema: stockAnswer, example: STOCK },
};

/** The answer to a command or a request that is refused. */
export const REFUSAL: Message = {
  name: 'Refusal',
  summary: 'The command or the request is refused, and changed nothing',
  schema: z.object({
    error: z
      .looseObject({
        code: z.string().describe('A code of the HTTP API, or one of docs/amqp.md'),
        message: z.string().describe('A sentence with the values'),
      })
      .describe('With the further members that the problem of this code has over HTTP'),
  }),
  example: {
    error: {
      code: 'OUT_OF_STOCK',
      message: 'not enough stock of apple (3 of 5)',
      shortages: [{ sku: 'apple', wanted: 5, available: 3 }],
    },
  },
};
