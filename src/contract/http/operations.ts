import { type Operations } from './operation';
import { actionOperations } from './operations/action-operations';
import { bulkOperations } from './operations/bulk-operations';
import { documentOperations, healthOperations, notificationOperations } from './operations/open-operations';
import { orderOperations } from './operations/order-operations';
import { stockOperations } from './operations/stock-operations';
import { timeoutOperations } from './operations/timeout-operations';
import { unmatchedPaymentOperations } from './operations/unmatched-payment-operations';

/** Every route of the service. A new route needs its line in one of these tables. */
export const OPERATIONS: Operations = {
  ...orderOperations,
  ...actionOperations,
  ...bulkOperations,
  ...unmatchedPaymentOperations,
  ...stockOperations,
  ...timeoutOperations,
  ...notificationOperations,
  ...healthOperations,
  ...documentOperations,
};
