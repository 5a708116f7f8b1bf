// The module
export { OrderTimeoutModule } from './order-timeout.module';
export { type OrderTimeoutModuleAsyncOptions, type OrderTimeoutModuleOptions } from './order-timeout.module-definition';
export { type OrderTimeoutExtras, type OrderTimeoutOptions } from './order-timeout-options';
export { migrate, NewerSchemaError, orderTimeoutMigrations, PreparingClient } from './database';

// Timeouts of any kind
export {
  ASK,
  DONE,
  DuplicateTimeoutHandlerError,
  type DueTimeout,
  HandlerContractError,
  InvalidTimeoutError,
  ImportedTwiceError,
  InvalidTimeoutHandlerError,
  MissingRightsError,
  MissingTablesError,
  MissingTimeoutHandlerError,
  ParkedTimeouts,
  type ScheduledTimeout,
  type ScheduleTimeout,
  type SettledRow,
  SharedSchemaError,
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
  type AttemptStatus,
  type AttemptView,
  CancelOrder,
  type CancelOrderResult,
  CheckPayment,
  type CheckPaymentResult,
  type ClosingReason,
  ErasePersonalData,
  type ErasePersonalDataResult,
  type ErasureRequest,
  ExtendDeadline,
  type ExtendDeadlineResult,
  type HistoryEntry,
  InvalidOrderError,
  type LockedBatch,
  type LockedOrder,
  MarkPaid,
  type MarkPaidResult,
  type MinorUnits,
  type NewAttempt,
  type NewDeadline,
  type NewOrder,
  type NewOrderLine,
  type OpenItem,
  type Order,
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  ORDER_STORE,
  type OrderEventType,
  type OrderLineView,
  type OrderPolicy,
  type OrderPolicyOptions,
  type OrderStatus,
  type OrderStore,
  type OrderView,
  type PaymentAttempt,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  type PlaceRejection,
  PlaceOrders,
  type PlaceResult,
  Purge,
  type PurgeCounts,
  type PurgeRun,
  ReadHistory,
  ReadOrder,
  refundNumber,
  RegisterAttempt,
  type RegisterAttemptResult,
  type ReportedPayment,
  type RetentionOptions,
  SetAutoClose,
  type SetAutoCloseResult,
  TakeNotification,
  type Transition,
  type TransitionCause,
  type UnexpectedHandling,
  type UnexpectedMoney,
  type UnexpectedReason,
  UnsupportedIsolationLevelError,
} from './orders';

export { type RateLimitOptions } from './orders/http';

// Stock
export {
  Inventory,
  type ReserveOutcome,
  type SetStockCondition,
  type SetStockOutcome,
  type StockDemand,
  type StockDifference,
  type StockEffect,
  type StockLevel,
  type StockLine,
  type StockShortage,
} from './inventory';

// Payments
export {
  type CloseOutcome,
  DuplicatePaymentProviderError,
  GuardedProvider,
  type GuardOptions,
  type HttpPaymentOptions,
  HttpPaymentProvider,
  MerchantAccounts,
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
  PaymentProviders,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
  type UnknownOutcome,
  type UntrustedSource,
} from './payments';

// RabbitMQ and events
export { Outbox, type OutboxEntry } from './events';
export {
  DuplicateCommandHandlerError,
  type QueueType,
  RABBIT_TRANSPORT,
  RabbitContext,
  RabbitClient,
  type RabbitOptions,
  RabbitServer,
} from './rabbit';

// Operations
export {
  type LogLevel,
  Metrics,
  type MetricsRegistry,
  OperationsModule,
  type OperationsOptions,
  PinoLogger,
} from './operations';

// Time and errors
export { type Clock, CLOCK, SystemClock } from './clock';
export { CodedError, InvalidOptionsError } from './errors';
