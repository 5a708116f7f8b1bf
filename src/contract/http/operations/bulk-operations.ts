import { bulkActionSchema, bulkExtensionSchema } from '../../../orders/input';
import { bulkResultAnswer } from '../answers/bulk-answer';
import { type Operations } from '../operation';

const common = {
  tag: 'Actions on many orders',
  scopes: ['admin'],
  answers: { 200: { description: 'What this call did', schema: bulkResultAnswer } },
  problems: ['ACTOR_MISSING'],
} as const;

const REPEAT = 'Repeat the request with `next` as `cursor` until it is null. A call takes about ten seconds at most.';

/** Operator actions on all orders of a filter. */
export const bulkOperations: Operations = {
  'POST /orders/bulk/actions/extend': {
    ...common,
    id: 'extendDeadlines',
    summary: 'Extend or shorten the deadlines of all PENDING orders of a filter',
    description: `${REPEAT} An order is extended once for each \`actionId\`.`,
    body: bulkExtensionSchema,
  },
  'POST /orders/bulk/actions/cancel': {
    ...common,
    id: 'cancelOrders',
    summary: 'Cancel all open orders of a filter',
    description: REPEAT,
    body: bulkActionSchema,
  },
  'POST /orders/bulk/actions/close': {
    ...common,
    id: 'closeOrders',
    summary: 'Close all unpaid orders of a filter now',
    description: REPEAT,
    body: bulkActionSchema,
  },
};
