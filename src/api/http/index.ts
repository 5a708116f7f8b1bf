export {
  Action,
  API_KEYS,
  ByCaller,
  ByOperator,
  CallerGuard,
  type OperatorContext,
  PageController,
  RequireRole,
  OrderScopeGuard,
  UnmatchedScope,
  rateLimitOptions,
  type RateLimitOptions,
  RateLimits,
} from './caller.guard';
export { DOCS_FILES, DocumentsController } from './documents.controller';
export { InventoryController } from './inventory.controller';
export {
  ApiKeys,
  type ApiRequest,
  type ApiScope,
  CallerScope,
  findApiKeyProblems,
  findOperatorKeyProblems,
  isBulkOfJson,
  isNotification,
  isOtherJson,
  MerchantScope,
  OperatorKeys,
  type OperatorRole,
  remoteNetworkOf,
} from './caller';
export { type OperatorRequest, type OperatorSession, OperatorSessions, setCookie } from './operator-sessions';
export { BulkActionsController, OrderActionsController } from './order-actions.controller';
export { OrdersController, type Placement } from './orders.controller';
export { ParkedTimeoutsController, TimeoutOperatorController } from './parked-timeouts.controller';
export { PaymentNotificationsController } from './payment-notifications.controller';
export { ProblemFilter } from './problem.filter';
export { UnmatchedPaymentsController } from './unmatched-payments.controller';
