export { bothOrNeither, fields, MAX_PROBLEMS, problemsOf, toSentence } from './fields';
export {
  bulkActionSchema,
  bulkExtensionSchema,
  newAttemptSchema,
  newDeadlineCommandSchema,
  newDeadlineSchema,
  newOrderSchema,
  operatorPageSchema,
  orderPageSchema,
  refundSchema,
  reportedPaymentSchema,
} from './schemas';
export { isMoney, readPayment, storableMoney } from './check-input';
