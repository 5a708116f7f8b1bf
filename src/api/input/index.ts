export { RequestRejectedError, type RejectionCode } from './request-rejected-error';
export { newOrdersSchema } from './new-orders-schema';
export { parseInput } from './parse-input';
export { accepted, notFound, reject } from './reject';
export { InputPipe } from './input-pipe';
export { rejectStock, skuNotFound } from './reject-stock';
export { type StockChange, stockChangeCommandSchema, stockChangeSchema } from './stock-change-schema';
export { rejectOperator } from './reject-operator';
export { autoCloseSchema, cancellationSchema, closeSchema, reasonSchema, refundSchema } from './order-action-schemas';
export { chosenTimeoutsSchema, parkedPageSchema } from './parked-timeout-schemas';
export { assignmentSchema, unmatchedPageSchema } from './unmatched-payment-schemas';
export {
  chosenMessagesSchema,
  chosenRowsSchema,
  operatorAutoCloseSchema,
  operatorExtensionSchema,
  operatorPageLimitSchema,
  operatorParkedPageSchema,
  operatorRescheduleSchema,
  operatorTimeoutsSchema,
  providerLimitSchema,
  refundPageSchema,
} from './operator-page-schemas';
