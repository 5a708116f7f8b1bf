import { z } from 'zod';
import {
  ATTEMPT_STATUSES,
  type AttemptView,
  ORDER_STATUSES,
  type OrderLineView,
  type OrderView,
  type OrderList,
  type HistoryEntry,
  TRANSITION_CAUSES,
  type AssignUnmatchedResult,
  type MarkPaidResult,
  type RefundPaymentResult,
  type BulkOutcome,
  type BulkResult,
  type UnmatchedHandling,
  type UnmatchedPayment,
  type UnmatchedReason,
} from '../../../src/orders';
import { type Placement } from '../../../src/api/http';
import { type StockLevel } from '../../../src/inventory';
import { type TimeoutRecord } from '../../../src/timeouts';
import { type Readiness } from '../../../src/operations';
import { describes, instant, money } from './json-schemas';

export const orderStatus = z.enum(ORDER_STATUSES);

export const orderLineAnswer = describes<OrderLineView>()(
  z.object({ sku: z.string(), quantity: z.int(), unitAmount: money }),
);

export const attemptAnswer = describes<AttemptView>()(
  z.object({
    provider: z.string(),
    reference: z.string(),
    status: z.enum(ATTEMPT_STATUSES),
    amount: money,
    currency: z.string(),
    merchantAccount: z.string().exactOptional(),
    timeExpire: instant.exactOptional(),
    createdAt: instant,
    paidAmount: money.exactOptional(),
    paidAt: instant.exactOptional(),
    transactionId: z.string().exactOptional(),
  }),
);

/** What most routes answer with. */
export const orderAnswer = describes<OrderView>()(
  z.object({
    id: z.string(),
    merchantId: z.string(),
    status: orderStatus,
    version: z.int().describe('Grows with every change'),
    amount: money,
    currency: z.string(),
    expiresAt: instant.describe('The deadline'),
    expired: z.boolean().describe('Whether the deadline has passed, by the clock of the database'),
    payable: z.boolean().describe('Whether a new payment attempt is accepted'),
    autoClose: z.boolean().describe('Whether the order is closed at its deadline'),
    lines: z.array(orderLineAnswer),
    attempts: z.array(attemptAnswer),
    metadata: z.record(z.string(), z.unknown()).exactOptional(),
    createdAt: instant,
    paidAt: instant.exactOptional(),
    closedAt: instant.exactOptional(),
  }),
);

/** Newest first. */
export const orderListAnswer = describes<OrderList>()(
  z.object({
    orders: z.array(orderAnswer).describe('Newest first. May be empty although there are more pages'),
    next: z.string().nullable().describe('The `cursor` of the next page. Null: this is the last one'),
  }),
);

export const placementAnswer = describes<Placement>()(
  z.object({
    id: z.string(),
    outcome: z.enum(['placed', 'replayed', 'rejected']),
    code: z.string().exactOptional().describe('Why the order was rejected'),
    detail: z.string().exactOptional(),
  }),
);

export const placementsAnswer = z.object({ results: z.array(placementAnswer).describe('In the order of the request') });

export const historyEntryAnswer = describes<HistoryEntry>()(
  z.object({
    version: z.int(),
    from: orderStatus.nullable().describe('Null: the order was placed'),
    to: orderStatus,
    cause: z.enum(TRANSITION_CAUSES),
    actor: z.string().nullable(),
    reason: z.string().nullable(),
    evidence: z.record(z.string(), z.unknown()).nullable(),
    traceparent: z.string().nullable(),
    occurredAt: instant,
  }),
);

/** Oldest entry first. */
export const historyAnswer = z.array(historyEntryAnswer);

type Accepted<Result extends { readonly outcome: string }> = Exclude<Result, { outcome: 'rejected' | 'unknown-order' }>;

const BOOKED = ['paid', 'booked', 'already-paid', 'late', 'surplus', 'amount-mismatch', 'currency-mismatch'] as const;

export const paidAnswer = describes<Accepted<MarkPaidResult>>()(
  z.object({ outcome: z.enum([...BOOKED, 'attempt-mismatch']), order: orderAnswer }),
);

export const refundAnswer = describes<Accepted<RefundPaymentResult>>()(
  z.object({ outcome: z.enum(['refunding', 'refunded']), order: orderAnswer }),
);

export const assignedAnswer = describes<Accepted<AssignUnmatchedResult>>()(
  z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('assigned'),
      booked: z.enum(BOOKED).describe('The outcome of the payment'),
      order: orderAnswer,
    }),
    z.object({ outcome: z.literal('already-assigned'), order: orderAnswer }),
  ]),
);

export const bulkOutcomeAnswer = describes<BulkOutcome>()(
  z.object({
    id: z.string(),
    outcome: z.string().describe('The outcome of the single action, or a code; `BUSY`: repeat the call'),
  }),
);

/** What one call of an action on many orders did. */
export const bulkResultAnswer = describes<BulkResult>()(
  z.object({
    dryRun: z.boolean(),
    count: z.int().describe('Orders that this call handled'),
    outcomes: z.record(z.string(), z.int()).describe('How many orders had which outcome or code'),
    sample: z.array(bulkOutcomeAnswer).describe('At most 20 of the orders, those with a code first'),
    next: z.string().nullable().describe('The `cursor` of the next call. Null: all orders are handled'),
  }),
);

export const stockAnswer = describes<StockLevel>()(
  z.object({
    sku: z.string(),
    onHand: z.int(),
    reserved: z.int(),
    available: z.int().describe('`onHand` less `reserved`'),
    merchantId: z.string().exactOptional().describe('Only of a SKU that belongs to a merchant'),
  }),
);

export const parkedTimeoutAnswer = describes<TimeoutRecord>()(
  z.object({
    kind: z.string(),
    key: z.string(),
    generation: z.string().describe('Decimal digits'),
    dueAt: instant,
    nextAttemptAt: instant,
    attempts: z.int().describe('Failed runs'),
    state: z.enum(['pending', 'parked']),
    lastError: z.string().nullable(),
    payload: z.record(z.string(), z.unknown()),
  }),
);

/** By kind and key. */
export const parkedTimeoutsAnswer = z.array(parkedTimeoutAnswer);

export const countAnswer = z.object({ count: z.int().describe('Those that were parked') });

export const republishAnswer = z.object({
  outcome: z.enum(['requested', 'off']).describe('`off`: the transport is `none`'),
});

export const unmatchedReason = describes<UnmatchedReason>()(
  z.enum([
    'late',
    'surplus',
    'unknown-order',
    'attempt-mismatch',
    'amount-mismatch',
    'currency-mismatch',
    'refund-failed',
    'excess-refund-failed',
    'overpaid',
    'invalid-amount',
    'chargeback',
  ]),
);

export const unmatchedHandling = describes<UnmatchedHandling>()(
  z.enum(['kept', 'waiting', 'revived', 'refunding', 'adopted', 'completed', 'settled']),
);

export const unmatchedPaymentAnswer = describes<UnmatchedPayment>()(
  z.object({
    id: z.guid(),
    reason: unmatchedReason,
    handling: unmatchedHandling,
    orderId: z.string().nullable().describe('Null: unknown'),
    provider: z.string(),
    reference: z.string(),
    merchantAccount: z.string().nullable().describe('Null: the provider has one account'),
    amount: money,
    currency: z.string(),
    source: z.enum(['report', 'provider']).describe('Who says that it was paid'),
    evidence: z.record(z.string(), z.unknown()),
    createdAt: instant,
    resolvedAt: instant.nullable(),
    resolvedBy: z.string().nullable(),
    resolution: z.string().nullable(),
  }),
);

/** Oldest first. */
export const unmatchedPaymentsAnswer = z.array(unmatchedPaymentAnswer);

const upOrDown = z.enum(['up', 'down']);

export const livenessAnswer = z.object({ status: z.literal('alive') });

export const readinessAnswer = describes<Readiness>()(
  z.object({
    status: z.enum(['ready', 'degraded', 'not-ready']).describe('`degraded`: requests are served'),
    engine: z.enum(['ready', 'starting-or-stopping']),
    database: upOrDown,
    broker: z.enum(['up', 'down', 'not configured']),
    messagePath: z.enum(['up', 'down', 'suspect', 'off']),
    cause: z.string().exactOptional().describe('What is wrong with the message path, and what to do'),
    transport: z.string().exactOptional(),
  }),
);
