import { z } from 'zod';
import { fields } from '../../orders/input';

const shape = {
  onHand: fields.onHand.optional(),
  expected: fields.onHand.optional(),
  add: fields.addedStock.optional(),
  /** Whose sku it becomes; absent: shared by all. */
  merchantId: fields.merchantId.optional(),
};

/** Either what is to be on hand, if it is `expected` now, or what is to be added. */
export type StockChange = z.infer<z.ZodObject<typeof shape>>;

/** Body of `PUT /inventory/:sku`. */
export const stockChangeSchema = z
  .strictObject(shape)
  .refine(({ onHand, add }) => (onHand === undefined) !== (add === undefined), {
    path: ['onHand'],
    error: 'give exactly one of onHand and add',
  })
  .refine(({ add, expected }) => add === undefined || expected === undefined, {
    path: ['expected'],
    error: 'goes with onHand only; add needs no expectation',
  });
