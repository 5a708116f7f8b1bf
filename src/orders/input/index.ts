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
  reportedPaymentSchema,
} from './schemas';
export { isMoney, readPayment, storableMoney } from './check-input';
