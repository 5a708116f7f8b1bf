// The module
export { OrderTimeoutModule } from './module';
export { type OrderTimeoutModuleAsyncOptions, type OrderTimeoutModuleOptions } from './module';
export { type OrderTimeoutExtras, type OrderTimeoutOptions } from './module';
export { type DatabaseOptions, PreparingClient, ResilientClient } from './database';
export { migrate, orderTimeoutMigrations } from './module';

export { type DelayTransportSetting } from './delay';

// Orders
export {
  type ActionContext,
  type ActionOptions,
  type Actor,
  type HistoryEntry,
  InvalidOrderError,
  type MarkPaidResult,
  type MinorUnits,
  type NewAttempt,
  type NewOrder,
  type NewOrderLine,
  OnOrder,
  OnOrderInTransaction,
  type OrderDelivery,
  type OrderEvent,
  type OrderEventType,
  type OrderFilter,
  type OrderListenerOptions,
  type OrderPolicyOptions,
  Orders,
  type OrderStatus,
  type OrderView,
  type PlaceResult,
  type ReportedPayment,
  type RetentionOptions,
} from './orders';

export { type RateLimitOptions } from './api/http';

// Stock
export {
  Inventory,
  type SetStockCondition,
  type SetStockOutcome,
  type StockDifference,
  type StockLevel,
  type StockShortage,
} from './inventory';

// Webhooks
export { type WebhookEndpoint, type WebhookOptions } from './webhooks';

// Operations
export {
  type LogLevel,
  Metrics,
  type MetricsRegistry,
  OperationsModule,
  type OperationsOptions,
  type OrderTimeoutHealth,
  OrderTimeoutHealthIndicator,
  PinoLogger,
} from './operations';

// Time and errors
export { type Clock, SystemClock } from './clock';
export { CodedError, InvalidOptionsError } from './errors';
