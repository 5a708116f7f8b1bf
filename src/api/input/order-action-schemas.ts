import { z } from 'zod';
import { fields } from '../../orders/input';

const { reason, provider, reference, merchantAccount, flag } = fields;

/** Body of `POST /orders/:id/cancel`. It may be absent. */
export const cancellationSchema = z.strictObject({ reason: reason.optional() }).default({});

/** Body of `POST /orders/:id/auto-close`. */
export const autoCloseSchema = z.strictObject({ enabled: flag });

/** Body of `POST /orders/:id/refund`. */
export const refundSchema = z.strictObject({
  provider,
  reference,
  merchantAccount: merchantAccount.optional(),
  reason,
});

/** Body of `POST /orders/:id/close`. */
export const closeSchema = z.strictObject({ reason, attemptsAreClosed: flag.optional() });

/** Body of operator actions that need only a reason. */
export const reasonSchema = z.strictObject({ reason });
