import { z } from 'zod';
import { type Fields, fields } from './fields';
import { moduleFields } from './module-fields';

const schemaOf = <F extends Fields>(of: F) =>
  z.strictObject({
    provider: of.provider,
    reference: of.reference,
    amount: of.amount.optional(),
    currency: of.currency.optional(),
    timeExpire: of.instant.optional(),
    merchantAccount: of.merchantAccount.optional(),
    handedOver: of.flag.optional(),
  });

/** A payment attempt: the body of `POST /orders/:id/attempts`, and `attempt` of a new order. */
export const newAttemptSchema = schemaOf(fields);

/** The same from a caller in the same process. */
export const moduleAttemptSchema = schemaOf(moduleFields);
