import { z } from 'zod';
import { bothOrNeither } from './both-or-neither';
import { type Fields, fields } from './fields';
import { moduleFields } from './module-fields';

const shapeOf = <F extends Fields>(of: F) => ({
  expiresAt: of.instant.optional(),
  byMs: of.byMs.optional(),
  reason: of.reason.optional(),
});

export const EITHER = { path: ['expiresAt'], error: 'give exactly one of expiresAt and byMs' };

export const hasOne = ({ expiresAt, byMs }: { expiresAt?: unknown; byMs?: unknown }): boolean =>
  (expiresAt === undefined) !== (byMs === undefined);

/** The same condition in the API documents. */
export const EITHER_DOCUMENTED = {
  not: { anyOf: bothOrNeither('expiresAt', 'byMs') },
  description: 'Exactly one of `expiresAt` and `byMs`',
};

/** Body of `POST /orders/:id/extend`. */
export const newDeadlineSchema = z.strictObject(shapeOf(fields)).refine(hasOne, EITHER).meta(EITHER_DOCUMENTED);

/** Body of the command `order.extended`. */
export const newDeadlineCommandSchema = z
  .strictObject({ orderId: fields.orderId, ...shapeOf(fields) })
  .refine(hasOne, EITHER)
  .meta(EITHER_DOCUMENTED);

/** The same from a caller in the same process. */
export const moduleDeadlineSchema = z
  .strictObject({ orderId: fields.orderId, ...shapeOf(moduleFields) })
  .refine(hasOne, EITHER);
