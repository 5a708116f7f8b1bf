import { stockChangeSchema } from '../../../api/input';
import { fields } from '../../../orders/input';
import { stockAnswer } from '../answers/stock-answer';
import { type Operations } from '../operation';

const common = { tag: 'Stock', params: { sku: fields.sku } } as const;

/** Stock. */
export const stockOperations: Operations = {
  'PUT /inventory/:sku': {
    ...common,
    id: 'setStock',
    summary: 'Set the stock of a SKU, or add to it',
    scopes: ['inventory:write'],
    body: stockChangeSchema,
    answers: { 200: { description: 'The stock', schema: stockAnswer } },
    description:
      'Each repetition of `add` adds again, so an `Idempotency-Key` with it is refused. Send `onHand` with `expected` if a request may be sent twice.',
    problems: ['IDEMPOTENCY_KEY_UNSUPPORTED', 'STOCK_BELOW_RESERVED', 'STOCK_CHANGED', 'STOCK_TOO_LARGE'],
  },
  'GET /inventory/:sku': {
    ...common,
    id: 'readStock',
    summary: 'Read the stock of a SKU',
    scopes: ['orders:read', 'inventory:write'],
    answers: { 200: { description: 'The stock', schema: stockAnswer } },
    problems: ['SKU_NOT_FOUND'],
  },
};
