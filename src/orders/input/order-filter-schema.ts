import { z } from 'zod';
import { LIMITS } from '../limits';
import { ORDER_STATUSES } from '../order-status';
import { decodePosition } from '../read/order-position';
import { type Fields, fields, says } from './fields';
import { moduleFields } from './module-fields';

const status = z.enum(ORDER_STATUSES, says(`one of ${ORDER_STATUSES.join(', ')}`));
const statuses = z.array(status, says(`one or more of ${ORDER_STATUSES.join(', ')}`)).min(1, 'must have an entry');

/** A query names a status once or several times. */
const oneOrMore = z.union(
  [statuses, status.transform((one) => [one])],
  says(`one or more of ${ORDER_STATUSES.join(', ')}`),
);

const shapeOf = <F extends Fields, S extends z.ZodType>(of: F, several: S) => ({
  status: several.optional(),
  merchantId: of.merchantId.optional(),
  provider: of.provider.optional(),
  reference: of.reference.optional(),
  expiresFrom: of.instant.optional(),
  expiresTo: of.instant.optional(),
  createdFrom: of.instant.optional(),
  createdTo: of.instant.optional(),
});

const MAX_CURSOR = 200;
const CURSOR = says('the `next` of the previous page');

/** A cursor stays text here, so that all callers pass it in the same form. */
export const cursor = z
  .string(CURSOR)
  .max(MAX_CURSOR, CURSOR)
  .refine((text) => decodePosition(text) !== undefined, CURSOR);

const LIMIT = says(`an integer from 1 to ${LIMITS.page}`);
const limit = z.int(LIMIT).min(1, LIMIT).max(LIMITS.page, LIMIT);
/** A query carries numbers as text. */
const textLimit = z.coerce.number(LIMIT).pipe(limit);

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

/** The same from a caller in the same process. */
export const modulePageSchema = z.strictObject({
  ...moduleFilterShape,
  merchants: z.array(fields.merchantId).optional(),
  limit: limit.optional(),
  cursor: cursor.optional(),
});
