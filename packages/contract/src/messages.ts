import { z } from 'zod';
import { COMMAND_SCHEMAS, REQUEST_SCHEMAS } from '../../../src/api/amqp';
import {
  type CancelOrderResult,
  type ExtendDeadlineResult,
  type MarkPaidResult,
  type PlaceResult,
  type RegisterAttemptResult,
} from '../../../src/orders';
import { attemptAnswer, orderAnswer, orderLineAnswer, orderListAnswer, stockAnswer, paidAnswer } from './answers';
import { describes } from './json-schemas';
import { EVENTS, type Message } from './events';

/** What several answers have in common, named as in the HTTP API. */
const SHARED = {
  Order: orderAnswer,
  OrderLine: orderLineAnswer,
  Attempt: attemptAnswer,
  OrderList: orderListAnswer,
  StockLevel: stockAnswer,
};

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

const messages = [COMMANDS, REQUESTS, ANSWERS, EVENTS].flatMap((group): Message[] => Object.values(group));

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

const NAMES: ReadonlyMap<z.ZodType, string> = new Map([
  ...[...messages, REFUSAL].map(({ name, schema }) => [schema, name] as const),
  ...Object.entries(SHARED).map(([name, schema]) => [schema, name] as const),
]);

/** The schemas of all messages, by the names of their types in generated clients. */
export const MESSAGE_SCHEMAS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  [...NAMES].map(([schema, name]) => [name, schema]),
);

/** Where the document keeps schemas. */
export const SCHEMAS_AT = '#/components/schemas/';

/** Where the document keeps the schema of a message. */
export function payloadOf({ name, schema }: Message): { readonly $ref: string } {
  return { $ref: `${SCHEMAS_AT}${NAMES.get(schema) ?? name}` };
}

/** What a use case returns if it accepts, without the id, which the order has too. */
type Done<Result extends { readonly outcome: string }> = Omit<Exclude<Result, { outcome: 'rejected' }>, 'id'>;
