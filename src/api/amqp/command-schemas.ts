import { z } from 'zod';
import { fields, newAttemptSchema, reportedPaymentSchema } from '../../orders/input';

const ofOrder = { orderId: fields.orderId };

/** Body of `payment.attempted`. */
export const attemptedSchema = newAttemptSchema.extend(ofOrder);

/** Body of `order.paid`. */
export const paidSchema = reportedPaymentSchema.extend(ofOrder);

/** Body of `order.cancelled`. */
export const cancelledSchema = z.strictObject({ ...ofOrder, reason: fields.reason.optional() });

export type CancelCommand = z.output<typeof cancelledSchema>;
