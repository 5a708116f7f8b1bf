import { z } from 'zod';
import { LIMITS } from '../model/order-policies';
import { ORDER_STATUSES } from '../model/order';
import { decodePosition } from '../model/order-filter';
import { fields, moduleFields, moneyFields, type Fields, bothOrNeither, says } from './fields';

const { orderId, reason, flag, unmatchedId } = moduleFields;

const atMost = (count: number) => `must have at most ${count} entries`;

/** The lines need not add up to the amount, because the shop may give discounts. */
const orderShape = <F extends Fields, A extends z.ZodType>(of: F, attempt: A) => ({
  id: of.orderId,
  merchantId: of.merchantId.optional(),
  amount: of.amount,
  currency: of.currency,
  paymentWindowMs: of.windowMs.optional(),
  expiresAt: of.instant.optional(),
  graceMs: of.graceMs.optional(),
  reminderOffsetsMs: z.array(of.windowMs).max(LIMITS.reminders, atMost(LIMITS.reminders)).optional(),
  lines: z
    .array(
      z.strictObject({ sku: of.sku, quantity: of.quantity, unitAmount: of.unitAmount }),
      'must be an array of {sku, quantity, unitAmount}; it may be empty',
    )
    .max(LIMITS.lines, atMost(LIMITS.lines))
    .optional(),
  autoClose: of.flag.optional(),
  metadata: metadataSchema.optional(),
  attempt: attempt.optional(),
});

const ONE_DEADLINE = { path: ['expiresAt'], error: 'give either expiresAt or paymentWindowMs, not both' };

const hasOneDeadline = ({ paymentWindowMs, expiresAt }: { paymentWindowMs?: unknown; expiresAt?: unknown }): boolean =>
  paymentWindowMs === undefined || expiresAt === undefined;

const schemaOf = <F extends Fields>(of: F) =>
  z.strictObject({
    provider: of.provider,
    reference: of.reference,
    amount: of.amount.optional(),
    currency: of.currency.optional(),
    timeExpire: of.instant.optional(),
    merchantAccount: of.merchantAccount.optional(),
    handedOver: of.flag.optional(),
  });

const moduleAttemptSchema = schemaOf(moduleFields);

/** jsonb rejects NUL and unpaired surrogates. */
const UNSTORABLE = /\0|\p{Cs}/u;

/** Data that a shop stores with its order: any JSON object that PostgreSQL can store, at most 8 KiB. */
const metadataSchema = z
  .custom<JsonRecord>()
  .superRefine((value, context) => {
    const problem = findProblem(value);
    if (problem) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ type: 'object', description: 'Any JSON object of 8 KiB and 16 levels at most' });

/** The same from a caller in the same process. Over HTTP, the key is a header. */
const moduleOrderSchema = z
  .strictObject({ ...orderShape(moduleFields, moduleAttemptSchema), idempotencyKey: fields.idempotencyKey.optional() })
  .refine(hasOneDeadline, ONE_DEADLINE);

const deadlineShape = <F extends Fields>(of: F) => ({
  expiresAt: of.instant.optional(),
  byMs: of.byMs.optional(),
  reason: of.reason.optional(),
});

const EITHER = { path: ['expiresAt'], error: 'give exactly one of expiresAt and byMs' };

const hasOne = ({ expiresAt, byMs }: { expiresAt?: unknown; byMs?: unknown }): boolean =>
  (expiresAt === undefined) !== (byMs === undefined);

const moduleDeadlineSchema = z
  .strictObject({ orderId: fields.orderId, ...deadlineShape(moduleFields) })
  .refine(hasOne, EITHER);

const status = z.enum(ORDER_STATUSES, says(`one of ${ORDER_STATUSES.join(', ')}`));

const statuses = z.array(status, says(`one or more of ${ORDER_STATUSES.join(', ')}`)).min(1, 'must have an entry');

const filterShapeOf = <F extends Fields, S extends z.ZodType>(of: F, several: S) => ({
  status: several.optional().describe('Any of these'),
  merchantId: of.merchantId.optional(),
  provider: of.provider.optional().describe('Orders with a payment attempt at this provider'),
  reference: of.reference.optional().describe('Orders with a payment attempt of this reference'),
  expiresFrom: of.instant.optional().describe('Deadlines from this instant on'),
  expiresTo: of.instant.optional().describe('Deadlines before this instant'),
  createdFrom: of.instant.optional().describe('Orders placed from this instant on'),
  createdTo: of.instant.optional().describe('Orders placed before this instant'),
});

const MAX_CURSOR = 200;
const CURSOR = says('the `next` of the previous page');

/** A cursor stays text here, so that all callers pass it in the same form. */
const cursor = z
  .string(CURSOR)
  .max(MAX_CURSOR, CURSOR)
  .refine((text) => decodePosition(text) !== undefined, CURSOR)
  .describe('`next` of the previous page');

const LIMIT = says(`an integer from 1 to ${LIMITS.page}`);

const limit = z.int(LIMIT).min(1, LIMIT).max(LIMITS.page, LIMIT);

const filterShape = filterShapeOf(fields, statuses);

const moduleFilterShape = filterShapeOf(moduleFields, statuses);

const modulePageSchema = z.strictObject({
  ...moduleFilterShape,
  merchants: z.array(fields.merchantId).optional(),
  trace: fields.trace.optional(),
  limit: limit.optional(),
  cursor: cursor.optional(),
});

const OPEN = says('one or more of PENDING, CLOSING');

const openStatuses = z
  .array(z.enum(['PENDING', 'CLOSING'], says('PENDING or CLOSING')), OPEN)
  .min(1, 'must have an entry');

const NOT_EMPTY = 'must have at least one field; for all open orders, give status';

/** An empty filter would be all orders of all merchants, which nobody must ask for by accident. */
const isNotEmpty = (filter: Readonly<Record<string, unknown>>): boolean =>
  Object.values(filter).some((field) => field !== undefined);

const filter = z
  .strictObject({ ...filterShape, status: openStatuses.optional().describe('Any of these') })
  .refine(isNotEmpty, NOT_EMPTY)
  .meta({ minProperties: 1, description: 'Each field that is given narrows the choice. At least one' });

const moduleFilter = z
  .strictObject({
    ...moduleFilterShape,
    status: openStatuses.optional(),
    merchants: z.array(fields.merchantId).optional(),
  })
  .refine(isNotEmpty, NOT_EMPTY);

const BULK_LIMIT = says(`an integer from 1 to ${LIMITS.orders}`);

const bulkShape = <F extends z.ZodType>(of: F) => ({
  filter: of,
  reason: fields.reason.describe('For the history of each order'),
  dryRun: fields.flag.optional().describe('True: nothing changes, and the answer says what would'),
  limit: z
    .int(BULK_LIMIT)
    .min(1, BULK_LIMIT)
    .max(LIMITS.orders, BULK_LIMIT)
    .optional()
    .describe(`Orders of one call; ${LIMITS.orders} if absent`),
  cursor: cursor.optional(),
});

const bulkExtensionShape = <F extends Fields, S extends z.ZodType>(of: F, chosen: S) => ({
  ...bulkShape(chosen),
  actionId: fields.orderId.describe('Chosen by you. An order is extended once for each id'),
  expiresAt: of.instant.optional(),
  byMs: of.byMs.optional(),
});

const paymentShape = <F extends Fields>(of: F) => ({
  provider: of.provider,
  reference: of.reference,
  amount: of.amount,
  currency: of.currency,
  transactionId: of.transactionId.optional(),
  paidAt: of.instant.optional(),
  merchantAccount: of.merchantAccount.optional(),
});

const refundShape = <F extends Fields>(of: F) => ({
  provider: of.provider,
  reference: of.reference,
  merchantAccount: of.merchantAccount.optional(),
  reason: of.reason,
});

export const moduleSchemas = {
  order: moduleOrderSchema,
  attempt: moduleAttemptSchema.extend({ orderId }),
  deadline: moduleDeadlineSchema,
  cancellation: z.strictObject({ orderId, reason: reason.optional() }),
  autoClose: z.strictObject({ orderId, enabled: flag, reason: reason.optional() }),
  refund: z.strictObject({ orderId, ...refundShape(moneyFields) }),
  revival: z.strictObject({ orderId, reason }),
  reveal: z.strictObject({ orderId, reason }),
  close: z.strictObject({ orderId, reason, attemptsAreClosed: flag.optional() }),
  settlement: z.strictObject({ id: unmatchedId, reason }),
  page: modulePageSchema,
  bulk: z.strictObject(bulkShape(moduleFilter)),
  bulkExtension: z.strictObject(bulkExtensionShape(moduleFields, moduleFilter)).refine(hasOne, EITHER),
  actor: fields.actor,
  assignment: z.strictObject({ id: unmatchedId, orderId, reason }),
  /** Its other fields are evidence. */
  payment: z.object({ orderId: moneyFields.orderId, ...paymentShape(moneyFields) }),
} as const;

/** A payment attempt: the body of `POST /orders/:id/attempts`, and `attempt` of a new order. */
export const newAttemptSchema = schemaOf(fields);

/** A new order: the body of `POST /orders` and of the command `order.placed`. */
export const newOrderSchema = z
  .strictObject(orderShape(fields, newAttemptSchema))
  .refine(hasOneDeadline, ONE_DEADLINE)
  // In the API documents.
  .meta({
    not: { required: ['paymentWindowMs', 'expiresAt'] },
    description: 'An order to place. At most one of `paymentWindowMs` and `expiresAt`',
  });

/** The same condition in the API documents. */
const EITHER_DOCUMENTED = {
  not: { anyOf: bothOrNeither('expiresAt', 'byMs') },
  description: 'Exactly one of `expiresAt` and `byMs`',
};

export const newDeadlineSchema = z.strictObject(deadlineShape(fields)).refine(hasOne, EITHER).meta(EITHER_DOCUMENTED);

export const newDeadlineCommandSchema = z
  .strictObject({ orderId: fields.orderId, ...deadlineShape(fields) })
  .refine(hasOne, EITHER)
  .meta(EITHER_DOCUMENTED);

/** A payment that the shop reports: the body of `POST /orders/:id/paid`. The command adds `orderId`. */
export const reportedPaymentSchema = z.strictObject(paymentShape(fields));

/** Body of `POST /orders/:id/refund`. */
export const refundSchema = z.strictObject(refundShape(fields));

/** A query that names a status once carries no list. */
const oneOrMore = z.preprocess((value) => (typeof value === 'string' ? [value] : value), statuses);

/** A query carries numbers as text. */
const textLimit = z.coerce
  .number(LIMIT)
  .int(LIMIT)
  .min(1, LIMIT)
  .max(LIMITS.page, LIMIT)
  .describe('Orders of a page; 50 if absent');

export const orderPageSchema = z.strictObject({
  ...filterShapeOf(fields, oneOrMore),
  limit: textLimit.optional(),
  cursor: cursor.optional(),
});

/** The same from the operator page, whose search knows more. */
export const operatorPageSchema = z.strictObject({
  ...orderPageSchema.shape,
  trace: fields.trace.optional(),
  q: fields.searchText.optional(),
});

export const bulkActionSchema = z.strictObject(bulkShape(filter));

export const bulkExtensionSchema = z
  .strictObject(bulkExtensionShape(fields, filter))
  .refine(hasOne, EITHER)
  .meta(EITHER_DOCUMENTED);

type JsonRecord = Readonly<Record<string, unknown>>;

function findProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a JSON object';
  // Checked first, because JSON.stringify overflows the stack some thousand levels down, and throws for a bigint.
  const problem = findUnstorable(value, LIMITS.metadataDepth);
  if (problem) return problem;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  const { metadataBytes } = LIMITS;
  return bytes > metadataBytes ? `must be at most ${metadataBytes} bytes of JSON (got ${bytes})` : undefined;
}

function findUnstorable(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return UNSTORABLE.test(value) ? 'must not contain NUL or an unpaired surrogate' : undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `must not contain ${value}, which JSON cannot carry`;
    case 'bigint':
    case 'function':
    case 'symbol':
      return `must not contain a ${typeof value}, which JSON cannot carry`;
    case 'object':
      return value === null ? undefined : findUnstorableMember(value, depth);
    default:
      return undefined;
  }
}

function findUnstorableMember(value: object, depth: number): string | undefined {
  if (depth === 0) return `must not be nested deeper than ${LIMITS.metadataDepth} levels`;
  if (hasToJson(value)) return findUnstorable(value.toJSON(), depth - 1);
  for (const part of Object.entries(value).flat()) {
    const problem = findUnstorable(part, depth - 1);
    if (problem) return problem;
  }
  return undefined;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
