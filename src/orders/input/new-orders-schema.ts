import { z } from 'zod';
import { newOrderSchema } from './new-order-schema';

const MAX_ORDERS = 1_000;

/** Body of `POST /orders/bulk`. */
export const newOrdersSchema = z.strictObject({
  orders: z
    .array(newOrderSchema, 'must be an array of orders')
    .min(1, 'must have at least one entry')
    .max(MAX_ORDERS, `must have at most ${MAX_ORDERS} entries; send several requests`),
});
