import { type z } from 'zod';
import {
  newOrdersSchema,
  autoCloseSchema,
  cancellationSchema,
  closeSchema,
  reasonSchema,
  type ProblemCode,
} from '../../../src/api/input';
import {
  type CheckPaymentResult,
  type PlaceResult,
  type RegisterAttemptResult,
  type CancelOrderResult,
  type CloseOrderResult,
  type ErasePersonalDataResult,
  type ExtendDeadlineResult,
  type RefundPaymentResult,
  type ReviveOrderResult,
  type SetAutoCloseResult,
} from '../../../src/orders';
import {
  fields,
  newAttemptSchema,
  newOrderSchema,
  orderPageSchema,
  refundSchema,
  reportedPaymentSchema,
  newDeadlineSchema,
  bulkActionSchema,
  bulkExtensionSchema,
} from '../../../src/orders/input';
import { type ApiScope } from '../../../src/api/http';
import {
  placementsAnswer,
  historyAnswer,
  orderAnswer,
  orderListAnswer,
  paidAnswer,
  refundAnswer,
  bulkResultAnswer,
} from './answers';

const ofOrder = { tag: 'Orders', params: { id: fields.orderId } } as const;

const params = { id: fields.orderId };

/** Placing, reading, and paying orders. */
export const orderOperations: Operations = {
  'POST /orders': {
    id: 'placeOrder',
    tag: 'Orders',
    summary: 'Place an order',
    description: 'Idempotent by the id of the order: the same order again answers 200 with the order as it is now.',
    scopes: ['orders:write'],
    headers: { 'Idempotency-Key': fields.idempotencyKey.optional() },
    body: newOrderSchema,
    answers: {
      201: { description: 'The order was placed', schema: orderAnswer },
      200: { description: 'The same order was placed before. This is how it is now', schema: orderAnswer },
    },
    problems: refusalsOf<PlaceResult>({
      ORDER_EXISTS: true,
      IDEMPOTENCY_KEY_REUSED: true,
      OUT_OF_STOCK: true,
      UNKNOWN_SKU: true,
      PAYMENT_WINDOW_OUT_OF_RANGE: true,
      ATTEMPT_EXISTS: true,
      PROVIDER_NOT_CONFIGURED: true,
      MERCHANT_ACCOUNT_NOT_CONFIGURED: true,
    }),
  },
  'POST /orders/bulk': {
    id: 'placeOrders',
    tag: 'Orders',
    summary: 'Place up to 1000 orders',
    description: 'A malformed order rejects the whole request. An order that is rejected for its content fails alone.',
    scopes: ['orders:write'],
    body: newOrdersSchema,
    answers: { 200: { description: 'What became of each order', schema: placementsAnswer } },
  },
  'GET /orders': {
    id: 'listOrders',
    tag: 'Orders',
    summary: 'List orders, newest first',
    description:
      'Each parameter narrows the list. A page may have fewer orders than `limit`, and even none: go on until `next` is null.',
    scopes: ['orders:read'],
    query: orderPageSchema,
    answers: { 200: { description: 'A page', schema: orderListAnswer } },
  },
  'GET /orders/:id': {
    ...ofOrder,
    id: 'readOrder',
    summary: 'Read an order',
    scopes: ['orders:read'],
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: ['ORDER_NOT_FOUND'],
  },
  'GET /orders/:id/history': {
    ...ofOrder,
    id: 'readHistory',
    summary: 'Read the history of an order',
    scopes: ['orders:read'],
    answers: { 200: { description: 'Its history, oldest entry first', schema: historyAnswer } },
    problems: ['ORDER_NOT_FOUND'],
  },
  'POST /orders/:id/attempts': {
    ...ofOrder,
    id: 'registerAttempt',
    summary: 'Register a payment attempt',
    description: 'Before the buyer gets it. If it is rejected, do not start the payment.',
    scopes: ['orders:write'],
    body: newAttemptSchema,
    answers: {
      201: { description: 'The attempt was registered', schema: orderAnswer },
      200: { description: 'The order has this attempt already', schema: orderAnswer },
    },
    problems: refusalsOf<RegisterAttemptResult>({
      ORDER_NOT_FOUND: true,
      ORDER_EXPIRED: true,
      ORDER_NOT_PAYABLE: true,
      ATTEMPT_EXISTS: true,
      TOO_MANY_ATTEMPTS: true,
      PROVIDER_NOT_CONFIGURED: true,
      MERCHANT_ACCOUNT_NOT_CONFIGURED: true,
    }),
  },
  'POST /orders/:id/pay-check': {
    ...ofOrder,
    id: 'checkPayment',
    summary: 'Look up the open attempts of an order',
    description: 'Asks their providers, for 8 s at most.',
    scopes: ['orders:write'],
    answers: { 200: { description: 'The order after the look-ups', schema: orderAnswer } },
    problems: refusalsOf<CheckPaymentResult>({ ORDER_NOT_FOUND: true, PROVIDER_NOT_CONFIGURED: true }),
  },
  'POST /orders/:id/paid': {
    ...ofOrder,
    id: 'reportPayment',
    summary: 'Report a payment',
    description: 'It is recorded in any case, and pays the order if it can.',
    scopes: ['orders:write'],
    body: reportedPaymentSchema,
    answers: { 200: { description: 'What the payment did', schema: paidAnswer } },
    problems: ['ORDER_NOT_FOUND'],
  },
};

const byShop = { tag: 'Orders', scopes: ['orders:write'], params } as const;

const byOperator = { tag: 'Manual actions', scopes: ['admin'], params } as const;

/** Actions on one order. */
export const actionOperations: Operations = {
  'POST /orders/:id/extend': {
    ...byShop,
    id: 'extendDeadline',
    summary: 'Extend or shorten the deadline',
    description:
      'With `byMs`, each repetition moves the deadline again, so an `Idempotency-Key` with it is refused. Send `expiresAt` if ' +
      'a request may be sent twice.',
    body: newDeadlineSchema,
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: [
      'IDEMPOTENCY_KEY_UNSUPPORTED',
      ...refusalsOf<ExtendDeadlineResult>({
        ORDER_NOT_FOUND: true,
        ORDER_NOT_PENDING: true,
        DEADLINE_OUT_OF_RANGE: true,
      }),
    ],
  },
  'POST /orders/:id/cancel': {
    ...byShop,
    id: 'cancelOrder',
    summary: 'Cancel an order',
    body: cancellationSchema,
    answers: {
      200: {
        description:
          '`CANCELLED`, or `CLOSING` while its attempts are closed at their providers and its money is refunded',
        schema: orderAnswer,
      },
    },
    problems: refusalsOf<CancelOrderResult>({
      ORDER_NOT_FOUND: true,
      ORDER_NOT_CANCELLABLE: true,
      ORDER_HAS_MONEY: true,
    }),
  },
  'POST /orders/:id/auto-close': {
    ...byShop,
    id: 'setAutoClose',
    summary: 'Turn closing at the deadline on or off',
    body: autoCloseSchema,
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: refusalsOf<SetAutoCloseResult>({ ORDER_NOT_FOUND: true, ORDER_NOT_PENDING: true }),
  },
  'POST /orders/:id/refund': {
    ...byOperator,
    id: 'refundPayment',
    summary: 'Refund one payment of an order in full',
    body: refundSchema,
    answers: { 200: { description: 'The refund is in progress or done', schema: refundAnswer } },
    problems: refusalsOf<RefundPaymentResult>({
      ORDER_NOT_FOUND: true,
      PAYMENT_NOT_FOUND: true,
      PAYMENT_TAKEN: true,
      PAYMENT_ERASED: true,
      PAYMENT_NEEDED: true,
      PAYMENT_NOT_CONFIRMED: true,
      UNMATCHED_PAYMENT_HANDLED: true,
    }),
  },
  'POST /orders/:id/revive': {
    ...byOperator,
    id: 'reviveOrder',
    summary: 'Make a closed order whose money was kept PAID',
    body: reasonSchema,
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: refusalsOf<ReviveOrderResult>({
      ORDER_NOT_FOUND: true,
      OUT_OF_STOCK: true,
      ORDER_NOT_REVIVABLE: true,
      PAYMENT_INSUFFICIENT: true,
      PAYMENT_TAKEN: true,
      UNMATCHED_PAYMENT_HANDLED: true,
    }),
  },
  'POST /orders/:id/close': {
    ...byOperator,
    id: 'closeOrder',
    summary: 'Close an unpaid order now',
    body: closeSchema,
    answers: {
      200: {
        description: '`CLOSED`, or `CLOSING` while its attempts are closed at their providers',
        schema: orderAnswer,
      },
    },
    problems: refusalsOf<CloseOrderResult>({ ORDER_NOT_FOUND: true, ORDER_NOT_CLOSABLE: true, ORDER_HAS_MONEY: true }),
  },
  'POST /orders/:id/erase': {
    ...byOperator,
    id: 'erasePersonalData',
    summary: 'Erase the personal data of a finished order',
    body: reasonSchema,
    answers: { 200: { description: 'The order without personal data', schema: orderAnswer } },
    problems: refusalsOf<ErasePersonalDataResult>({
      ORDER_NOT_FOUND: true,
      ORDER_NOT_FINISHED: true,
      ORDER_HAS_OPEN_ITEMS: true,
    }),
  },
};

const common = {
  tag: 'Actions on many orders',
  scopes: ['admin'],
  answers: { 200: { description: 'What this call did', schema: bulkResultAnswer } },
  problems: ['ACTOR_MISSING'],
} as const;

const REPEAT = 'Repeat the request with `next` as `cursor` until it is null. A call takes about ten seconds at most.';

/** Operator actions on all orders of a filter. */
export const bulkOperations: Operations = {
  'POST /orders/bulk/actions/extend': {
    ...common,
    id: 'extendDeadlines',
    summary: 'Extend or shorten the deadlines of all PENDING orders of a filter',
    description: `${REPEAT} An order is extended once for each \`actionId\`.`,
    body: bulkExtensionSchema,
  },
  'POST /orders/bulk/actions/cancel': {
    ...common,
    id: 'cancelOrders',
    summary: 'Cancel all open orders of a filter',
    description: REPEAT,
    body: bulkActionSchema,
  },
  'POST /orders/bulk/actions/close': {
    ...common,
    id: 'closeOrders',
    summary: 'Close all unpaid orders of a filter now',
    description: REPEAT,
    body: bulkActionSchema,
  },
};

type RefusalCode<Result> = Extract<Result, { outcome: 'rejected' }> extends { code: infer Code } ? Code : never;

/** The codes with which a use case refuses. Does not compile if one is missing. */
export function refusalsOf<Result>(
  codes: Readonly<Record<RefusalCode<Result> & string, true>>,
): readonly (RefusalCode<Result> & string)[] {
  return Object.keys(codes) as (RefusalCode<Result> & string)[];
}

/** Groups of routes, in the order of the document. */
export const TAGS = {
  Orders: 'Place, read, and change orders.',
  'Manual actions': 'What an operator decides about one order.',
  'Actions on many orders': 'What an operator decides about all orders of a filter.',
  'Unmatched payments': 'Payments that belong to no order, or arrived too late.',
  Stock: 'Set and read stock.',
  Timeouts: 'Parked timeouts, and wake-ups that were lost with the broker.',
  Notifications: 'Webhooks: what payment providers post to the service.',
  Health: 'Probes and metrics.',
  Documents: 'This description, and a page to try it.',
} as const;

type Tag = keyof typeof TAGS;

/** An answer without a problem. */
export interface Answer {
  readonly description: string;
  /** Absent: the answer has no body, or one of `mediaType`. */
  readonly schema?: z.ZodType;
  /** What is not JSON. */
  readonly mediaType?: string;
}

/** One route: everything that a client has to know. */
export interface Operation {
  /** Name of the function in generated clients. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** A key with any one of them may call the route. Absent: it needs no key. */
  readonly scopes?: readonly ApiScope[];
  /** Path parameters. */
  readonly params?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  /** The schema that validates the body. `'any'`: whatever a provider posts. */
  readonly body?: z.ZodType | 'any';
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of this route, besides those that every route has. */
  readonly problems?: readonly ProblemCode[];
}

/** Operations by method and path, such as `POST /orders/:id/paid`. */
export type Operations = Readonly<Record<string, Operation>>;
