import { z } from 'zod';
import {
  assignmentSchema,
  reasonSchema,
  unmatchedPageSchema,
  stockChangeSchema,
  chosenTimeoutsSchema,
  parkedPageSchema,
} from '../../../src/api/input';
import {
  type AssignUnmatchedResult,
  type ReopenUnmatchedResult,
  type SettleUnmatchedResult,
} from '../../../src/orders';
import { DOCS_FILES } from '../../../src/api/http';
import { fields } from '../../../src/orders/input';
import { type Operations, actionOperations, bulkOperations, orderOperations, refusalsOf } from './order-operations';
import {
  assignedAnswer,
  unmatchedPaymentAnswer,
  unmatchedPaymentsAnswer,
  stockAnswer,
  countAnswer,
  parkedTimeoutsAnswer,
  republishAnswer,
  livenessAnswer,
  readinessAnswer,
} from './answers';

const unmatched = { tag: 'Unmatched payments', scopes: ['admin'] } as const;

const params = { id: fields.unmatchedId };

/** Operator actions on unmatched payments. */
const unmatchedPaymentOperations: Operations = {
  'GET /payments/unmatched': {
    ...unmatched,
    id: 'listUnmatchedPayments',
    summary: 'List unmatched payments',
    description: 'Oldest first. `after` is the last id of the previous page.',
    query: unmatchedPageSchema,
    answers: { 200: { description: 'A page', schema: unmatchedPaymentsAnswer } },
  },
  'POST /payments/unmatched/:id/settle': {
    ...unmatched,
    id: 'settleUnmatchedPayment',
    summary: 'Record that a person has dealt with a payment',
    params,
    body: reasonSchema,
    answers: { 200: { description: 'The payment', schema: unmatchedPaymentAnswer } },
    problems: refusalsOf<SettleUnmatchedResult>({ UNMATCHED_PAYMENT_NOT_FOUND: true, UNMATCHED_PAYMENT_HANDLED: true }),
  },
  'POST /payments/unmatched/:id/reopen': {
    ...unmatched,
    id: 'reopenUnmatchedPayment',
    summary: 'Take back that a person has dealt with a payment',
    params,
    body: reasonSchema,
    answers: { 200: { description: 'The payment', schema: unmatchedPaymentAnswer } },
    problems: refusalsOf<ReopenUnmatchedResult>({ UNMATCHED_PAYMENT_NOT_FOUND: true, UNMATCHED_PAYMENT_HANDLED: true }),
  },
  'POST /payments/unmatched/:id/assign': {
    ...unmatched,
    id: 'assignUnmatchedPayment',
    summary: 'Book a payment on an order',
    params,
    body: assignmentSchema,
    answers: { 200: { description: 'What the payment did', schema: assignedAnswer } },
    problems: refusalsOf<AssignUnmatchedResult>({
      ORDER_NOT_FOUND: true,
      UNMATCHED_PAYMENT_NOT_FOUND: true,
      UNMATCHED_PAYMENT_HANDLED: true,
      UNMATCHED_PAYMENT_HAS_ORDER: true,
      PAYMENT_TAKEN: true,
      PAYMENT_DISPUTED: true,
      PAYMENT_NOT_BOOKABLE: true,
    }),
  },
};

const stock = { tag: 'Stock', params: { sku: fields.sku } } as const;

/** Stock. */
const stockOperations: Operations = {
  'PUT /inventory/:sku': {
    ...stock,
    id: 'setStock',
    summary: 'Set the stock of a SKU, or add to it',
    scopes: ['inventory:write'],
    body: stockChangeSchema,
    answers: { 200: { description: 'The stock', schema: stockAnswer } },
    description:
      'Each repetition of `add` adds again, so an `Idempotency-Key` with it is refused. Send `onHand` with `expected` if a request may be sent twice.',
    problems: ['IDEMPOTENCY_KEY_UNSUPPORTED', 'STOCK_BELOW_RESERVED', 'STOCK_CHANGED', 'STOCK_TOO_LARGE'],
  },
  'GET /inventory/:sku': {
    ...stock,
    id: 'readStock',
    summary: 'Read the stock of a SKU',
    scopes: ['orders:read', 'inventory:write'],
    answers: { 200: { description: 'The stock', schema: stockAnswer } },
    problems: ['SKU_NOT_FOUND'],
  },
};

const timeouts = { tag: 'Timeouts', scopes: ['admin'] } as const;

/** Operator actions on timeouts. */
const timeoutOperations: Operations = {
  'GET /timeouts/parked': {
    ...timeouts,
    id: 'listParkedTimeouts',
    summary: 'List parked timeouts',
    description: 'By kind and key. `afterKind` and `afterKey` are those of the last entry of the previous page.',
    query: parkedPageSchema,
    answers: { 200: { description: 'A page', schema: parkedTimeoutsAnswer } },
  },
  'POST /timeouts/parked/replay': {
    ...timeouts,
    id: 'replayTimeouts',
    summary: 'Make parked timeouts due now',
    body: chosenTimeoutsSchema,
    answers: { 200: { description: 'How many were parked', schema: countAnswer } },
  },
  'POST /timeouts/parked/discard': {
    ...timeouts,
    id: 'discardTimeouts',
    summary: 'End parked timeouts without their effect',
    body: chosenTimeoutsSchema,
    answers: { 200: { description: 'How many were parked', schema: countAnswer } },
  },
  'POST /timeouts/republish': {
    ...timeouts,
    id: 'republishWakeUps',
    summary: 'Publish the wake-ups of all pending timeouts again',
    description: 'In the background. Refused for keys that are limited to merchants.',
    answers: { 202: { description: 'Whether it was begun', schema: republishAnswer } },
  },
};

/** What providers post. Their signature is the key. */
const notificationOperations: Operations = {
  'POST /payments/:provider/notify': {
    id: 'notifyPayment',
    tag: 'Notifications',
    summary: 'Notify of a payment',
    description: 'For payment providers, which sign what they post. The answer is the one that the provider expects.',
    params: { provider: fields.provider },
    body: 'any',
    answers: {
      200: { description: 'Accepted', mediaType: '*/*' },
      204: { description: 'Accepted' },
      400: { description: 'The signature is wrong, or the path is not well formed', mediaType: '*/*' },
      500: { description: 'The provider should post it again', mediaType: '*/*' },
    },
    problems: [
      'ROUTE_NOT_FOUND',
      'BODY_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'RATE_LIMITED',
      'DATABASE_UNAVAILABLE',
      'BUSY',
    ],
  },
};

/** Routes of OperationsModule. */
const healthOperations: Operations = {
  'GET /health/live': {
    id: 'readLiveness',
    tag: 'Health',
    summary: 'Whether the process runs',
    answers: { 200: { description: 'It runs', schema: livenessAnswer } },
  },
  'GET /health/ready': {
    id: 'readReadiness',
    tag: 'Health',
    summary: 'Whether requests are served',
    answers: {
      200: { description: 'Requests are served', schema: readinessAnswer },
      503: { description: 'The service starts, stops, or has no database', schema: readinessAnswer },
    },
  },
  'GET /metrics': {
    id: 'readMetrics',
    tag: 'Health',
    summary: 'Metrics for Prometheus',
    answers: { 200: { description: 'Prometheus text', mediaType: 'text/plain' } },
  },
};

/** The documents themselves. */
const documentOperations: Operations = {
  'GET /openapi.json': {
    id: 'readOpenApi',
    tag: 'Documents',
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1', mediaType: 'application/json' } },
  },
  'GET /asyncapi.json': {
    id: 'readAsyncApi',
    tag: 'Documents',
    summary: 'Commands, answers, and events over RabbitMQ',
    answers: { 200: { description: 'AsyncAPI 3', mediaType: 'application/json' } },
  },
  'GET /docs': {
    id: 'readDocs',
    tag: 'Documents',
    summary: 'A page to try the HTTP API',
    answers: { 200: { description: 'A page', mediaType: 'text/html' } },
  },
  'GET /docs/:file': {
    id: 'readDocsFile',
    tag: 'Documents',
    summary: 'A file of the page',
    params: { file: z.enum(DOCS_FILES) },
    answers: { 200: { description: 'The file', mediaType: '*/*' } },
    problems: ['ROUTE_NOT_FOUND'],
  },
};

/** Every route of the service. A new route needs its line in one of these tables. */
export const OPERATIONS: Operations = {
  ...orderOperations,
  ...actionOperations,
  ...bulkOperations,
  ...unmatchedPaymentOperations,
  ...stockOperations,
  ...timeoutOperations,
  ...notificationOperations,
  ...healthOperations,
  ...documentOperations,
};
