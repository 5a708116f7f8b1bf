import { z } from 'zod';
import { moduleBulkExtensionSchema, moduleBulkSchema } from './bulk-schemas';
import { fields } from './fields';
import { moduleFields, moneyFields } from './module-fields';
import { moduleAttemptSchema } from './new-attempt-schema';
import { moduleDeadlineSchema } from './new-deadline-schema';
import { moduleOrderSchema } from './new-order-schema';
import { modulePageSchema } from './order-filter-schema';

const { orderId, amount, currency, reason, flag, unmatchedId } = moduleFields;
const { provider, reference, transactionId, paidAt, merchantAccount } = moneyFields;

/** The input that callers in the same process pass to the use cases: the same shapes as over HTTP and AMQP. */
export const moduleSchemas = {
  order: moduleOrderSchema,
  attempt: moduleAttemptSchema.extend({ orderId }),
  deadline: moduleDeadlineSchema,
  cancellation: z.strictObject({ orderId, reason: reason.optional() }),
  autoClose: z.strictObject({ orderId, enabled: flag, reason: reason.optional() }),
  refund: z.strictObject({
    orderId,
    provider,
    reference,
    merchantAccount: merchantAccount.optional(),
    reason,
  }),
  revival: z.strictObject({ orderId, reason }),
  reveal: z.strictObject({ orderId, reason }),
  close: z.strictObject({ orderId, reason, attemptsAreClosed: flag.optional() }),
  settlement: z.strictObject({ id: unmatchedId, reason }),
  page: modulePageSchema,
  bulk: moduleBulkSchema,
  bulkExtension: moduleBulkExtensionSchema,
  actor: fields.actor,
  assignment: z.strictObject({ id: unmatchedId, orderId, reason }),
  /** Its other fields are evidence. */
  payment: z.object({
    orderId,
    provider,
    reference,
    amount,
    currency,
    transactionId: transactionId.optional(),
    paidAt: paidAt.optional(),
    merchantAccount: merchantAccount.optional(),
  }),
} as const;
