import { chosenTimeoutsSchema, parkedPageSchema } from '../../../api/input';
import { countAnswer, parkedTimeoutsAnswer, republishAnswer } from '../answers/timeout-answers';
import { type Operations } from '../operation';

const common = { tag: 'Timeouts', scopes: ['admin'] } as const;

/** Operator actions on timeouts. */
export const timeoutOperations: Operations = {
  'GET /timeouts/parked': {
    ...common,
    id: 'listParkedTimeouts',
    summary: 'List parked timeouts',
    description: 'By kind and key. `afterKind` and `afterKey` are those of the last entry of the previous page.',
    query: parkedPageSchema,
    answers: { 200: { description: 'A page', schema: parkedTimeoutsAnswer } },
  },
  'POST /timeouts/parked/replay': {
    ...common,
    id: 'replayTimeouts',
    summary: 'Make parked timeouts due now',
    body: chosenTimeoutsSchema,
    answers: { 200: { description: 'How many were parked', schema: countAnswer } },
  },
  'POST /timeouts/parked/discard': {
    ...common,
    id: 'discardTimeouts',
    summary: 'End parked timeouts without their effect',
    body: chosenTimeoutsSchema,
    answers: { 200: { description: 'How many were parked', schema: countAnswer } },
  },
  'POST /timeouts/republish': {
    ...common,
    id: 'republishWakeUps',
    summary: 'Publish the wake-ups of all pending timeouts again',
    description: 'In the background. Refused for keys that are limited to merchants.',
    answers: { 202: { description: 'Whether it was begun', schema: republishAnswer } },
  },
};
