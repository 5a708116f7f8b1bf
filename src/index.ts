// The module
export { OrderTimeoutModule } from './module';
export { type OrderTimeoutModuleAsyncOptions, type OrderTimeoutModuleOptions } from './module';
export { type OrderTimeoutExtras, type OrderTimeoutOptions } from './module';
export { ResilientClient, NewerSchemaError, PreparingClient } from './database';
export { migrate, orderTimeoutMigrations } from './module';

// Timeouts of any kind
export {
  LOOK_UP,
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
  type SettlementRun,
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
  type ActionOptions,
  type Actor,
  type AutoCloseChange,
  type Cancellation,
  type LookUpOptions,
  type OperatorOptions,
  type OrderAttempt,
  Orders,
  type Revival,
  type UnmatchedPage,
  type UnmatchedPayments,
  type AssignUnmatchedResult,
  type AttemptStatus,
  type AttemptView,
  type CancelOrderResult,
  type CheckPaymentResult,
  type CloseOrderResult,
  type ClosingReason,
  type ErasePersonalDataResult,
  type ErasureRequest,
  type ExtendDeadlineResult,
  type HistoryEntry,
  InvalidOrderError,
  type LockedBatch,
  type LockedOrder,
  type ManualClose,
  type ManualRefund,
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
  type OrderEventType,
  type OrderLineView,
  type OrderPolicy,
  type OrderPolicyOptions,
  type OrderStatus,
  type OrderView,
  type PaymentAttempt,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  type PlaceRejection,
  type PlaceResult,
  type PurgeCounts,
  type PurgeRun,
  refundNumber,
  type RefundPaymentResult,
  type RegisterAttemptResult,
  type ReportedPayment,
  type RetentionOptions,
  type ReviveOrderResult,
  type SetAutoCloseResult,
  type SettleUnmatchedResult,
  type Transition,
  type TransitionCause,
  type UnmatchedHandling,
  type UnmatchedMoney,
  type UnmatchedReason,
  type UnmatchedAssignment,
  type UnmatchedPayment,
  type UnmatchedSettlement,
} from './orders';
export { type TransactionOptions, UnsupportedIsolationLevelError } from './database';

export { type RateLimitOptions } from './api/http';

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
  ResilientProvider,
  type ResilienceOptions,
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
export { Outbox, type OutboxEntry } from './outbox';
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
