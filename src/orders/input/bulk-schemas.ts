import { z } from 'zod';
import { LIMITS } from '../limits';
import { fields, says } from './fields';
import { moduleFields } from './module-fields';
import { EITHER, EITHER_DOCUMENTED, hasOne } from './new-deadline-schema';
import { cursor, filterShape, moduleFilterShape } from './order-filter-schema';

const OPEN = says('one or more of PENDING, CLOSING');
const status = z.array(z.enum(['PENDING', 'CLOSING'], says('PENDING or CLOSING')), OPEN).min(1, 'must have an entry');

const NOT_EMPTY = 'must have at least one field; for all open orders, give status';

/** An empty filter would be all orders of all merchants, which nobody must ask for by accident. */
const isNotEmpty = (filter: Readonly<Record<string, unknown>>): boolean =>
  Object.values(filter).some((field) => field !== undefined);

const filter = z
  .strictObject({ ...filterShape, status: status.optional().describe('Any of these') })
  .refine(isNotEmpty, NOT_EMPTY)
  .meta({ minProperties: 1, description: 'Each field that is given narrows the choice. At least one' });
const moduleFilter = z
  .strictObject({
    ...moduleFilterShape,
    status: status.optional(),
    merchants: z.array(fields.merchantId).optional(),
  })
  .refine(isNotEmpty, NOT_EMPTY);

const LIMIT = says(`an integer from 1 to ${LIMITS.orders}`);

const shapeOf = <F extends z.ZodType>(of: F) => ({
  filter: of,
  reason: fields.reason.describe('For the history of each order'),
  dryRun: fields.flag.optional().describe('True: nothing changes, and the answer says what would'),
  limit: z
    .int(LIMIT)
    .min(1, LIMIT)
    .max(LIMITS.orders, LIMIT)
    .optional()
    .describe(`Orders of one call; ${LIMITS.orders} if absent`),
  cursor: cursor.optional(),
});

/** Body of `POST /orders/bulk/actions/cancel` and `/close`. */
export const bulkActionSchema = z.strictObject(shapeOf(filter));

const actionId = fields.orderId.describe('Chosen by you. An order is extended once for each id');

/** Body of `POST /orders/bulk/actions/extend`. */
export const bulkExtensionSchema = z
  .strictObject({
    ...shapeOf(filter),
    actionId,
    expiresAt: fields.instant.optional(),
    byMs: fields.byMs.optional(),
  })
  .refine(hasOne, EITHER)
  .meta(EITHER_DOCUMENTED);

/** The same from a caller in the same process. */
export const moduleBulkSchema = z.strictObject(shapeOf(moduleFilter));
export const moduleBulkExtensionSchema = z
  .strictObject({
    ...shapeOf(moduleFilter),
    actionId: fields.orderId,
    expiresAt: moduleFields.instant.optional(),
    byMs: fields.byMs.optional(),
  })
  .refine(hasOne, EITHER);
