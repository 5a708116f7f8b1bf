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

const ONE_CHANGE = { path: ['onHand'], error: 'give exactly one of onHand and add' };
const hasOneChange = ({ onHand, add }: StockChange): boolean => (onHand === undefined) !== (add === undefined);

const ONLY_WITH_ON_HAND = { path: ['expected'], error: 'can be used only with onHand' };
const expectsOnHand = ({ add, expected }: StockChange): boolean => add === undefined || expected === undefined;

/** The two rules, for the API documents. */
const DOCUMENTED = {
  not: { anyOf: [...bothOrNeither('onHand', 'add'), { required: ['add', 'expected'] }] },
  description: 'Exactly one of `add` and `onHand`; `expected` only with `onHand`',
};

/** Body of `PUT /inventory/:sku`. */
export const stockChangeSchema = z
  .strictObject(shape)
  .refine(hasOneChange, ONE_CHANGE)
  .refine(expectsOnHand, ONLY_WITH_ON_HAND)
  .meta(DOCUMENTED);

/** Body of the command `stock.changed`. */
export const stockChangeCommandSchema = z
  .strictObject({ sku: fields.sku, ...shape })
  .refine(hasOneChange, ONE_CHANGE)
  .refine(expectsOnHand, ONLY_WITH_ON_HAND)
  .meta(DOCUMENTED);
