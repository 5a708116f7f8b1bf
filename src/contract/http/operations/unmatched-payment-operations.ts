import { assignmentSchema, reasonSchema, unmatchedPageSchema } from '../../../api/input';
import { type AssignUnmatchedResult, type ReopenUnmatchedResult, type SettleUnmatchedResult } from '../../../orders';
import { fields } from '../../../orders/input';
import { assignedAnswer } from '../answers/outcome-answers';
import { unmatchedPaymentAnswer, unmatchedPaymentsAnswer } from '../answers/unmatched-payment-answer';
import { type Operations } from '../operation';
import { refusalsOf } from '../refusals-of';

const common = { tag: 'Unmatched payments', scopes: ['admin'] } as const;
const params = { id: fields.unmatchedId };

/** Operator actions on unmatched payments. */
export const unmatchedPaymentOperations: Operations = {
  'GET /payments/unmatched': {
    ...common,
    id: 'listUnmatchedPayments',
    summary: 'List unmatched payments',
    description: 'Oldest first. `after` is the last id of the previous page.',
    query: unmatchedPageSchema,
    answers: { 200: { description: 'A page', schema: unmatchedPaymentsAnswer } },
  },
  'POST /payments/unmatched/:id/settle': {
    ...common,
    id: 'settleUnmatchedPayment',
    summary: 'Record that a person has dealt with a payment',
    params,
    body: reasonSchema,
    answers: { 200: { description: 'The payment', schema: unmatchedPaymentAnswer } },
    problems: refusalsOf<SettleUnmatchedResult>({ UNMATCHED_PAYMENT_NOT_FOUND: true, UNMATCHED_PAYMENT_HANDLED: true }),
  },
  'POST /payments/unmatched/:id/reopen': {
    ...common,
    id: 'reopenUnmatchedPayment',
    summary: 'Take back that a person has dealt with a payment',
    params,
    body: reasonSchema,
    answers: { 200: { description: 'The payment', schema: unmatchedPaymentAnswer } },
    problems: refusalsOf<ReopenUnmatchedResult>({ UNMATCHED_PAYMENT_NOT_FOUND: true, UNMATCHED_PAYMENT_HANDLED: true }),
  },
  'POST /payments/unmatched/:id/assign': {
    ...common,
    id: 'assignUnmatchedPayment',
    summary: 'Book a payment on an order',
    params,
    body: assignmentSchema,
    answers: { 200: { description: 'What the payment did', schema: assignedAnswer } },
    problems: refusalsOf<AssignUnmatchedResult>({
      ORDER_NOT_FOUND: true,
      UNMATCHED_PAYMENT_NOT_FOUND: true,
      UNMATCHED_PAYMENT_HANDLED: true,
      UNMATCHED_PAYMENT_HAS_ORDER: true,
      PAYMENT_TAKEN: true,
      PAYMENT_DISPUTED: true,
      PAYMENT_NOT_BOOKABLE: true,
    }),
  },
};
