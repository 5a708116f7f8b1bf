export {
  API_KEYS,
  ApiKeys,
  type ApiScope,
  findApiKeyProblems,
  findKey,
  findKeyProblems,
  type KeyEntry,
  type KeyFormat,
  readKeyEntries,
} from './api-key.guard';
export { type ApiRequest, headerOf, CallerScope, pathOf, remoteNetworkOf, MerchantScope } from './api-request';
export { DOCS_FILES, DocumentsController } from './documents.controller';
export { OrderScopeGuard, UnmatchedScope } from './order-scope.guard';
export { BulkActionsController, OrderActionsController, OrderOperatorController } from './order-actions.controller';
export { InventoryController } from './inventory.controller';
export { OrdersController, type Placement } from './orders.controller';
export { ParkedTimeoutsController, TimeoutOperatorController } from './parked-timeouts.controller';
export { ProblemFilter } from './problem.filter';
export { findRateLimitProblems, type RateLimitOptions, RateLimits } from './rate-limits';
export { PaymentNotificationsController } from './payment-notifications.controller';
export { UnmatchedPaymentsController } from './unmatched-payments.controller';
