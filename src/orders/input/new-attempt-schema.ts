import { z } from 'zod';
import { fields } from './fields';

/** A payment attempt: body of `POST /orders/:id/attempts`, and `attempt` of a new order. */
export const newAttemptSchema = z.strictObject({
  provider: fields.provider,
  reference: fields.reference,
  amount: fields.amount.optional(),
  currency: fields.currency.optional(),
  timeExpire: fields.instant.optional(),
  merchantAccount: fields.merchantAccount.optional(),
  handedOver: fields.flag.optional(),
});
