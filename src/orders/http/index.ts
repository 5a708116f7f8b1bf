export { API_KEYS, ApiKeyGuard, RequireScope } from './api-key.guard';
export { API_SCOPES, ApiKeys, type ApiScope, findApiKeyProblems } from './api-keys';
export { InventoryController } from './inventory.controller';
export { OrderActionsController } from './order-actions.controller';
export { OrdersController } from './orders.controller';
export { ParkedTimeoutsController } from './parked-timeouts.controller';
export { ProblemFilter } from './problem.filter';
export { PaymentNotificationsController } from './payment-notifications.controller';
