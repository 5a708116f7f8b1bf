export { bothOrNeither } from './both-or-neither';
export { bulkActionSchema, bulkExtensionSchema } from './bulk-schemas';
export { fields } from './fields';
export { newAttemptSchema } from './new-attempt-schema';
export { newDeadlineCommandSchema, newDeadlineSchema } from './new-deadline-schema';
export { newOrderSchema } from './new-order-schema';
export { operatorPageSchema, orderPageSchema } from './order-filter-schema';
export { MAX_PROBLEMS, problemsOf, toSentence } from './input-problem';
export { reportedPaymentSchema } from './reported-payment-schema';
