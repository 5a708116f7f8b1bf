import { type z } from 'zod';
import {
  assignmentSchema,
  autoCloseSchema,
  cancellationSchema,
  chosenTimeoutsSchema,
  closeSchema,
  newOrdersSchema,
  reasonSchema,
  refundSchema,
  stockChangeSchema,
} from '../../api/input';
import {
  bulkActionSchema,
  bulkExtensionSchema,
  newAttemptSchema,
  newDeadlineSchema,
  newOrderSchema,
  reportedPaymentSchema,
} from '../../orders/input';
import { bulkOutcomeAnswer, bulkResultAnswer } from './answers/bulk-answer';
import { livenessAnswer, readinessAnswer } from './answers/health-answers';
import { historyAnswer, historyEntryAnswer } from './answers/history-answer';
import { attemptAnswer, orderAnswer, orderLineAnswer } from './answers/order-answer';
import { orderListAnswer } from './answers/order-list-answer';
import { assignedAnswer, paidAnswer, refundAnswer } from './answers/outcome-answers';
import { placementAnswer, placementsAnswer } from './answers/placement-answer';
import { stockAnswer } from './answers/stock-answer';
import { countAnswer, parkedTimeoutAnswer, parkedTimeoutsAnswer, republishAnswer } from './answers/timeout-answers';
import { unmatchedPaymentAnswer, unmatchedPaymentsAnswer } from './answers/unmatched-payment-answer';
import { problemSchemas } from './problem-schemas';

/** Every body, by the name of its type in generated clients. */
export const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  NewOrder: newOrderSchema,
  NewOrderLine: newOrderSchema.shape.lines.unwrap().element,
  NewOrders: newOrdersSchema,
  NewAttempt: newAttemptSchema,
  ReportedPayment: reportedPaymentSchema,
  NewDeadline: newDeadlineSchema,
  Cancellation: cancellationSchema,
  AutoClose: autoCloseSchema,
  Refund: refundSchema,
  ManualClose: closeSchema,
  Reason: reasonSchema,
  BulkAction: bulkActionSchema,
  BulkExtension: bulkExtensionSchema,
  BulkFilter: bulkActionSchema.shape.filter,
  Assignment: assignmentSchema,
  StockChange: stockChangeSchema,
  ChosenTimeouts: chosenTimeoutsSchema,
  ChosenTimeout: chosenTimeoutsSchema.shape.timeouts.element,
  Order: orderAnswer,
  OrderLine: orderLineAnswer,
  Attempt: attemptAnswer,
  HistoryEntry: historyEntryAnswer,
  History: historyAnswer,
  OrderList: orderListAnswer,
  Placement: placementAnswer,
  Placements: placementsAnswer,
  BulkResult: bulkResultAnswer,
  BulkOutcome: bulkOutcomeAnswer,
  PaymentResult: paidAnswer,
  RefundResult: refundAnswer,
  AssignmentResult: assignedAnswer,
  UnmatchedPayment: unmatchedPaymentAnswer,
  UnmatchedPayments: unmatchedPaymentsAnswer,
  StockLevel: stockAnswer,
  ParkedTimeout: parkedTimeoutAnswer,
  ParkedTimeouts: parkedTimeoutsAnswer,
  Count: countAnswer,
  Republication: republishAnswer,
  Liveness: livenessAnswer,
  Readiness: readinessAnswer,
  ...problemSchemas(),
};

const NAMES: ReadonlyMap<z.ZodType, string> = new Map(
  Object.entries(NAMED_SCHEMAS).map(([name, schema]) => [schema, name]),
);

/** Where the document keeps the schema. Throws if the schema has no name, which is a bug. */
export function refTo(schema: z.ZodType): { readonly $ref: string } {
  const name = NAMES.get(schema);
  if (name === undefined) throw new Error('a schema of the API has no name; add it to NAMED_SCHEMAS');
  return { $ref: `${SCHEMAS_AT}${name}` };
}

/** Where OpenAPI and AsyncAPI keep schemas. */
export const SCHEMAS_AT = '#/components/schemas/';
