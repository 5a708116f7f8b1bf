import { z } from 'zod';
import { bothOrNeither, fields } from '../../orders/input';

const shape = {
  onHand: fields.onHand.optional(),
  expected: fields.onHand.optional(),
  add: fields.addedStock.optional(),
  /** The merchant that owns a new SKU. Absent: all merchants share it. */
  merchantId: fields.merchantId.optional(),
};

/** Either the new stock (`onHand`, on condition of `expected`), or how many units to add. */
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
    error: 'can be used only with onHand',
  })
  // In the API documents.
  .meta({
    not: { anyOf: [...bothOrNeither('onHand', 'add'), { required: ['add', 'expected'] }] },
    description: 'Exactly one of `add` and `onHand`; `expected` only with `onHand`',
  });
