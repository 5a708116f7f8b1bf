import { z } from 'zod';
import { fields } from './fields';
import { metadataSchema } from './metadata-schema';
import { newAttemptSchema } from './new-attempt-schema';

const MAX_LINES = 100;
const MAX_REMINDERS = 10;

const line = z.strictObject({ sku: fields.sku, quantity: fields.quantity, unitAmount: fields.unitAmount });

/** A new order: body of `POST /orders` and of the command `order.placed`. Discounts are the shop's: lines need not add up. */
export const newOrderSchema = z
  .strictObject({
    id: fields.orderId,
    merchantId: fields.merchantId.optional(),
    amount: fields.amount,
    currency: fields.currency,
    paymentWindowMs: fields.windowMs.optional(),
    expiresAt: fields.instant.optional(),
    graceMs: fields.graceMs.optional(),
    reminderOffsetsMs: z
      .array(fields.windowMs)
      .max(MAX_REMINDERS, `must have at most ${MAX_REMINDERS} entries`)
      .optional(),
    lines: z
      .array(line, 'must be an array of {sku, quantity, unitAmount}; it may be empty')
      .max(MAX_LINES, `must have at most ${MAX_LINES} entries`),
    autoClose: fields.flag.optional(),
    metadata: metadataSchema.optional(),
    attempt: newAttemptSchema.optional(),
  })
  .refine(({ paymentWindowMs, expiresAt }) => paymentWindowMs === undefined || expiresAt === undefined, {
    path: ['expiresAt'],
    error: 'give either expiresAt or paymentWindowMs, not both',
  });
