import { z } from 'zod';
import {
  fields,
  newAttemptSchema,
  newDeadlineCommandSchema,
  newOrderSchema,
  orderPageSchema,
  reportedPaymentSchema,
} from '../../orders/input';
import { stockChangeCommandSchema } from '../input';

const ofOrder = { orderId: fields.orderId };

/** The body of each command, by routing key. */
export const COMMAND_SCHEMAS = {
  'order.placed': newOrderSchema,
  'payment.attempted': newAttemptSchema.extend(ofOrder),
  'order.paid': reportedPaymentSchema.extend(ofOrder),
  'order.extended': newDeadlineCommandSchema,
  'order.cancelled': z.strictObject({ ...ofOrder, reason: fields.reason.optional() }),
  'stock.changed': stockChangeCommandSchema,
} as const;

/** The body of each request, by routing key. Requests change nothing: without an answer, they are of no use. */
export const REQUEST_SCHEMAS = {
  'order.read': z.strictObject(ofOrder),
  'orders.read': orderPageSchema,
  'stock.read': z.strictObject({ sku: fields.sku }),
} as const;

export type CommandBody<Name extends keyof typeof COMMAND_SCHEMAS> = z.output<(typeof COMMAND_SCHEMAS)[Name]>;
export type RequestBody<Name extends keyof typeof REQUEST_SCHEMAS> = z.output<(typeof REQUEST_SCHEMAS)[Name]>;
