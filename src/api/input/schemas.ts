import { z } from 'zod';
import { LIMITS } from '../../orders';
import { newOrderSchema, fields, bothOrNeither } from '../../orders/input';

/** Body of `POST /orders/bulk`. */
export const newOrdersSchema = z.strictObject({
  orders: z
    .array(newOrderSchema, 'must be an array of orders')
    .min(1, 'must have at least one entry')
    .max(LIMITS.orders, `must have at most ${LIMITS.orders} entries; send several requests`),
});

const { reason, flag } = fields;

/** Body of `POST /orders/:id/cancel`. It may be absent. */
export const cancellationSchema = z.strictObject({ reason: reason.optional() }).default({});

/** Body of `POST /orders/:id/auto-close`. */
export const autoCloseSchema = z.strictObject({ enabled: flag });

/** Body of `POST /orders/:id/close`. */
export const closeSchema = z.strictObject({ reason, attemptsAreClosed: flag.optional() });

/** Body of operator actions that need only a reason. */
export const reasonSchema = z.strictObject({ reason });

const shape = {
  onHand: fields.onHand.optional(),
  expected: fields.onHand.optional(),
  add: fields.addedStock.optional(),
  /** The merchant that owns a new SKU. Absent: all merchants share it. */
  merchantId: fields.merchantId.optional(),
};

/** Either the new stock (`onHand`, on condition of `expected`), or how many units to add. */
export type StockChange = z.infer<z.ZodObject<typeof shape>>;

const ONE_CHANGE = { path: ['onHand'], error: 'give exactly one of onHand and add' };

const hasOneChange = ({ onHand, add }: StockChange): boolean => (onHand === undefined) !== (add === undefined);

const ONLY_WITH_ON_HAND = { path: ['expected'], error: 'can be used only with onHand' };

const expectsOnHand = ({ add, expected }: StockChange): boolean => add === undefined || expected === undefined;

/** The two rules, for the API documents. */
const DOCUMENTED = {
  not: { anyOf: [...bothOrNeither('onHand', 'add'), { required: ['add', 'expected'] }] },
  description: 'Exactly one of `add` and `onHand`; `expected` only with `onHand`',
};

/** Body of `PUT /inventory/:sku`. */
export const stockChangeSchema = z
  .strictObject(shape)
  .refine(hasOneChange, ONE_CHANGE)
  .refine(expectsOnHand, ONLY_WITH_ON_HAND)
  .meta(DOCUMENTED);

/** Body of the command `stock.changed`. */
export const stockChangeCommandSchema = z
  .strictObject({ sku: fields.sku, ...shape })
  .refine(hasOneChange, ONE_CHANGE)
  .refine(expectsOnHand, ONLY_WITH_ON_HAND)
  .meta(DOCUMENTED);

const MAX_KIND = 100;

const MAX_KEY = 200;

/** PostgreSQL does not accept NUL in text. */
const withoutNul = (min: number, max: number): z.ZodString =>
  z
    .string()
    .min(min)
    .max(max)
    .regex(/^[^\0]*$/, 'must not contain NUL');

/** Entries of one page, or of one request. */
const MAX_PAGE = 1_000;

/** Query of `GET /timeouts/parked`. */
export const parkedPageSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
  afterKind: withoutNul(0, MAX_KIND).default(''),
  afterKey: withoutNul(0, MAX_KEY).default(''),
});

/** Body of `POST /timeouts/parked/replay` and `/discard`. */
export const chosenTimeoutsSchema = z.strictObject({
  timeouts: z
    .array(z.strictObject({ kind: withoutNul(1, MAX_KIND), key: withoutNul(1, MAX_KEY) }))
    .min(1, 'must name at least one timeout')
    .max(MAX_PAGE, `must name at most ${MAX_PAGE} timeouts`),
});

/** Query of `GET /payments/unmatched`. */
export const unmatchedPageSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(100),
  after: fields.unmatchedId.optional(),
});

/** Body of `POST /payments/unmatched/:id/assign`. */
export const assignmentSchema = z.strictObject({ orderId: fields.orderId, reason: fields.reason });

// The operator page asks for a reason for everything that it does.

/** Things that one request may name. Each order among them is locked. */
const MAX_CHOSEN = 200;

const MAX_REASON_OF_GROUP = 2_000;

const MAX_MESSAGE_ID = 255;

export const operatorAutoCloseSchema = z.strictObject({ enabled: flag, reason });

/** Query of parked timeouts. `reason` is that of a group. */
export const operatorParkedPageSchema = parkedPageSchema.extend({
  kind: withoutNul(0, 100).optional(),
  reason: withoutNul(0, MAX_REASON_OF_GROUP).optional(),
});

export const operatorTimeoutsSchema = chosenTimeoutsSchema.extend({
  timeouts: chosenTimeoutsSchema.shape.timeouts.max(MAX_CHOSEN, `must name at most ${MAX_CHOSEN} timeouts`),
  reason,
});

/** From now, in milliseconds. */
export const operatorRescheduleSchema = operatorTimeoutsSchema.extend({ afterMs: fields.windowMs });

const chosen = <T extends z.ZodType>(id: T) =>
  z.strictObject({
    ids: z.array(id).min(1, 'must name at least one').max(MAX_CHOSEN, `must name at most ${MAX_CHOSEN}`),
    reason,
  });

/** Rows of the outbox. */
export const chosenRowsSchema = chosen(z.guid('must be a UUID'));

/** Messages of the broker. An empty id stands for all without an id. */
export const chosenMessagesSchema = chosen(z.string().max(MAX_MESSAGE_ID));

export const operatorPageLimitSchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_CHOSEN).default(100),
});

export const refundPageSchema = operatorPageLimitSchema.extend({
  state: z.enum(['failed', 'pending'], 'must be failed or pending').default('pending'),
});

const LIMIT = 'must be null (as configured), or from 0.1 to 10000 calls per second';

/** The limit of a provider. */
export const providerLimitSchema = z.strictObject({
  perSecond: z.number(LIMIT).min(0.1, LIMIT).max(10_000, LIMIT).nullable(),
  reason,
});
