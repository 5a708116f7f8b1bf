import { z } from 'zod';
import { LIMITS } from '../../orders';
import { newOrderSchema } from '../../orders/input';

/** Body of `POST /orders/bulk`. */
export const newOrdersSchema = z.strictObject({
  orders: z
    .array(newOrderSchema, 'must be an array of orders')
    .min(1, 'must have at least one entry')
    .max(LIMITS.orders, `must have at most ${LIMITS.orders} entries; send several requests`),
});
