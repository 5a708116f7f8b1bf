import { z } from 'zod';
import { LIMITS } from '../limits';
import { type Fields, fields } from './fields';
import { metadataSchema } from './metadata-schema';
import { moduleFields } from './module-fields';
import { moduleAttemptSchema, newAttemptSchema } from './new-attempt-schema';

const atMost = (count: number) => `must have at most ${count} entries`;

/** The lines need not add up to the amount, because the shop may give discounts. */
const shapeOf = <F extends Fields, A extends z.ZodType>(of: F, attempt: A) => ({
  id: of.newOrderId,
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

/** A new order: the body of `POST /orders` and of the command `order.placed`. */
export const newOrderSchema = z
  .strictObject(shapeOf(fields, newAttemptSchema))
  .refine(hasOneDeadline, ONE_DEADLINE)
  // In the API documents.
  .meta({
    not: { required: ['paymentWindowMs', 'expiresAt'] },
    description: 'An order to place. At most one of `paymentWindowMs` and `expiresAt`',
  });

/** The same from a caller in the same process. Over HTTP, the key is a header. */
export const moduleOrderSchema = z
  .strictObject({ ...shapeOf(moduleFields, moduleAttemptSchema), idempotencyKey: fields.idempotencyKey.optional() })
  .refine(hasOneDeadline, ONE_DEADLINE);
