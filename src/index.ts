// The module
export { OrderTimeoutModule } from './module';
export { type OrderTimeoutModuleAsyncOptions, type OrderTimeoutModuleOptions } from './module';
export { type OrderTimeoutExtras, type OrderTimeoutOptions } from './module';
export { type DatabaseOptions, PreparingClient, ResilientClient } from './database';
export { migrate, orderTimeoutMigrations } from './module';

// Timeouts of any kind
export {
  DONE,
  type DueTimeout,
  InvalidTimeoutError,
  LOOK_UP,
  ParkedTimeouts,
  type ScheduledTimeout,
  type ScheduleTimeout,
  type SettledRow,
  type SettlementRun,
  type SweepOptions,
  type TimeoutCause,
  TimeoutEngine,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutHandlerOptions,
  type TimeoutHandlerSingle,
  type TimeoutObserver,
  TimeoutObservers,
  type TimeoutOutcome,
  type TimeoutRecord,
  type TimeoutRef,
  TimeoutScheduler,
  TimeoutsModule,
  type TimeoutsOptions,
  UnknownTimeoutKindError,
} from './timeouts';
export { type DelayTransportSetting } from './delay';

// Orders
export {
  type ActionContext,
  type ActionOptions,
  type Actor,
  type AssignUnmatchedResult,
  type AttemptStatus,
  type AttemptView,
  type AutoCloseChange,
  type BulkActions,
  type BulkExtension,
  type BulkFilter,
  type BulkOptions,
  type BulkOutcome,
  type BulkRequest,
  type BulkResult,
  type Cancellation,
  type CancelOrderResult,
  type CheckPaymentResult,
  type CloseOrderResult,
  type ErasePersonalDataResult,
  type ErasureRequest,
  type ExtendDeadlineResult,
  type HistoryEntry,
  InvalidOrderError,
  type LookUpOptions,
  type ManualClose,
  type ManualRefund,
  type MarkPaidResult,
  type MinorUnits,
  type NewAttempt,
  type NewDeadline,
  type NewOrder,
  type NewOrderLine,
  type OpenItem,
  type OperatorOptions,
  OnOrder,
  OnOrderInTransaction,
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  type OrderAttempt,
  type OrderChangeFacts,
  type OrderDelivery,
  type OrderEvent,
  type OrderEventFacts,
  type OrderEventHead,
  type OrderEventName,
  type OrderEventType,
  type OrderFacts,
  type OrderFilter,
  type OrderLineView,
  type OrderList,
  type OrderListenerOptions,
  type OrderPage,
  type OrderPolicy,
  type OrderPolicyOptions,
  Orders,
  type OrderStatus,
  type OrderView,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  type PlaceRejection,
  type PlaceResult,
  type PurgeCounts,
  type PurgeRun,
  type PlacedFacts,
  type RefundFacts,
  type RefusedFacts,
  type RefundPaymentResult,
  type RegisterAttemptResult,
  type ReminderFacts,
  type ReportedPayment,
  type RetentionOptions,
  type Revival,
  type ReviveOrderResult,
  type ScopedFilter,
  type SetAutoCloseResult,
  type ReopenUnmatchedResult,
  type SettleUnmatchedResult,
  type TransitionCause,
  type UnmatchedAssignment,
  type UnmatchedHandling,
  type UnmatchedPage,
  type UnmatchedPayment,
  type UnmatchedPaymentFacts,
  type UnmatchedPayments,
  type UnmatchedReason,
  type UnmatchedSettlement,
} from './orders';

// Transactions of other libraries
export { fromDrizzle, fromKnex, fromKysely, fromMikroOrm, fromPrisma } from './database';
export { type DrizzleSql, type DrizzleTransaction, type KnexTransaction, type KyselyTransaction } from './database';
export { type MikroOrmEntityManager, type PrismaTransaction, type Queryable, type Transaction } from './database';
export {
  AbortedTransactionError,
  type TransactionOptions,
  UnsupportedIsolationLevelError,
  UnusableTransactionError,
} from './database';

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

// Payments
export {
  type CloseOutcome,
  type HttpPaymentOptions,
  HttpPaymentProvider,
  type NotFoundOutcome,
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  type PaidOutcome,
  type PaymentAttemptRef,
  type PaymentEvidence,
  type PaymentObserver,
  PaymentObservers,
  type PaymentProvider,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
  type ResilienceOptions,
  ResilientProvider,
  type UnknownOutcome,
  type UntrustedSource,
} from './payments';

// Webhooks
export { type WebhookEndpoint, type WebhookOptions } from './webhooks';

// RabbitMQ and events
export { Outbox, type OutboxEntry } from './outbox';
export { EventDeserializer, RABBIT_TRANSPORT, RabbitContext, RabbitServer } from './rabbit';
export { type QueueType, type RabbitOptions } from './rabbit';

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
