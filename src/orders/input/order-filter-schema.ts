import { z } from 'zod';
import { LIMITS } from '../limits';
import { ORDER_STATUSES } from '../order-status';
import { decodePosition } from '../read/order-position';
import { type Fields, fields, says } from './fields';
import { moduleFields } from './module-fields';

const status = z.enum(ORDER_STATUSES, says(`one of ${ORDER_STATUSES.join(', ')}`));
const statuses = z.array(status, says(`one or more of ${ORDER_STATUSES.join(', ')}`)).min(1, 'must have an entry');

/** A query that names a status once carries no list. */
const oneOrMore = z.preprocess((value) => (typeof value === 'string' ? [value] : value), statuses);

const shapeOf = <F extends Fields, S extends z.ZodType>(of: F, several: S) => ({
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
export const cursor = z
  .string(CURSOR)
  .max(MAX_CURSOR, CURSOR)
  .refine((text) => decodePosition(text) !== undefined, CURSOR)
  .describe('`next` of the previous page');

const LIMIT = says(`an integer from 1 to ${LIMITS.page}`);
const limit = z.int(LIMIT).min(1, LIMIT).max(LIMITS.page, LIMIT);
/** A query carries numbers as text. */
const textLimit = z.coerce
  .number(LIMIT)
  .int(LIMIT)
  .min(1, LIMIT)
  .max(LIMITS.page, LIMIT)
  .describe('Orders of a page; 50 if absent');

/** The fields of a filter, as JSON carries them. */
export const filterShape = shapeOf(fields, statuses);

/** The same from a caller in the same process. */
export const moduleFilterShape = shapeOf(moduleFields, statuses);

/** The query of `GET /orders`, and the body of the command `orders.read`. */
export const orderPageSchema = z.strictObject({
  ...shapeOf(fields, oneOrMore),
  limit: textLimit.optional(),
  cursor: cursor.optional(),
});

/** The same from the operator page, whose search knows more. */
export const operatorPageSchema = z.strictObject({
  ...orderPageSchema.shape,
  trace: fields.trace.optional(),
  q: fields.searchText.optional(),
});

/** The same from a caller in the same process. */
export const modulePageSchema = z.strictObject({
  ...moduleFilterShape,
  merchants: z.array(fields.merchantId).optional(),
  trace: fields.trace.optional(),
  limit: limit.optional(),
  cursor: cursor.optional(),
});
