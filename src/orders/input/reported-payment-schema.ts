import { z } from 'zod';
import { fields } from './fields';

/** A payment that the shop reports: the body of `POST /orders/:id/paid`. The command adds `orderId`. */
export const reportedPaymentSchema = z.strictObject({
  provider: fields.provider,
  reference: fields.reference,
  amount: fields.amount,
  currency: fields.currency,
  transactionId: fields.transactionId.optional(),
  paidAt: fields.instant.optional(),
  merchantAccount: fields.merchantAccount.optional(),
});
