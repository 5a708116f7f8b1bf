import { newOrdersSchema } from '../../../api/input';
import { type CheckPaymentResult, type PlaceResult, type RegisterAttemptResult } from '../../../orders';
import {
  fields,
  newAttemptSchema,
  newOrderSchema,
  orderPageSchema,
  reportedPaymentSchema,
} from '../../../orders/input';
import { placementsAnswer } from '../answers/placement-answer';
import { historyAnswer } from '../answers/history-answer';
import { orderAnswer } from '../answers/order-answer';
import { orderListAnswer } from '../answers/order-list-answer';
import { paidAnswer } from '../answers/outcome-answers';
import { type Operations } from '../operation';
import { refusalsOf } from '../refusals-of';

const ofOrder = { tag: 'Orders', params: { id: fields.orderId } } as const;

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
