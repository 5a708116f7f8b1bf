import { z } from 'zod';
import { moduleFields, moneyFields } from './module-fields';
import { moduleAttemptSchema } from './new-attempt-schema';
import { moduleDeadlineSchema } from './new-deadline-schema';
import { moduleOrderSchema } from './new-order-schema';

const { orderId, amount, currency, reason, flag } = moduleFields;
const { provider, reference, transactionId, paidAt, merchantAccount } = moneyFields;

/** What callers in the same process give to the use cases: the same shapes as over HTTP and AMQP. */
export const moduleSchemas = {
  order: moduleOrderSchema,
  attempt: moduleAttemptSchema.extend({ orderId }),
  deadline: moduleDeadlineSchema,
  cancellation: z.strictObject({ orderId, reason: reason.optional() }),
  autoClose: z.strictObject({ orderId, enabled: flag }),
  /** What else it says is evidence. */
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
