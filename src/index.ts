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
  AssignUnmatched,
  type AssignUnmatchedResult,
  type AttemptStatus,
  type AttemptView,
  CancelOrder,
  type CancelOrderResult,
  CheckPayment,
  type CheckPaymentResult,
  CloseOrder,
  type CloseOrderResult,
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
  type ManualClose,
  type ManualRefund,
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
  RefundPayment,
  type RefundPaymentResult,
  RegisterAttempt,
  type RegisterAttemptResult,
  type ReportedPayment,
  type RetentionOptions,
  ReviveOrder,
  type ReviveOrderResult,
  SetAutoClose,
  type SetAutoCloseResult,
  SettleUnmatched,
  type SettleUnmatchedResult,
  HandleWebhook,
  type Transition,
  type TransitionCause,
  type UnmatchedHandling,
  type UnmatchedMoney,
  type UnmatchedReason,
  type UnmatchedAssignment,
  type UnmatchedPayment,
  UnmatchedPayments,
  type UnmatchedSettlement,
} from './orders';
export { UnsupportedIsolationLevelError } from './database';

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
