export { AskProviders } from './ask-providers';
export { type AttemptFinding, type Finding } from './attempt-finding';
export { CancelOrder, type CancelOrderResult } from './cancel-order';
export { CheckPayment, type CheckPaymentResult } from './check-payment';
export { CloseUnpaidOrders } from './close-unpaid-orders';
export { ExtendDeadline, type ExtendDeadlineResult, type NewDeadline } from './extend-deadline';
export { InvalidOrderError } from './invalid-order-error';
export { LatePayments } from './late/late-payments';
export { LateWatch } from './late/late-watch';
export { type Refund, refundNumber, type RefundReason } from './late/refund';
export { RefundPayments } from './late/refund-payments';
export { WatchEndedOrders } from './late/watch-ended-orders';
export { LIMITS } from './limits';
export { MarkPaid, type MarkPaidResult } from './mark-paid';
export { type ReportedPayment } from './reported-payment';
export { AssignUnmatched, type AssignUnmatchedResult, type UnmatchedAssignment } from './operator/assign-unmatched';
export { CloseOrder, type CloseOrderResult, type ManualClose } from './operator/close-order';
export { type ManualRefund, RefundPayment, type RefundPaymentResult } from './operator/refund-payment';
export { ReviveOrder, type ReviveOrderResult } from './operator/revive-order';
export { SettleUnmatched, type SettleUnmatchedResult, type UnmatchedSettlement } from './operator/settle-unmatched';
export { type UnmatchedPayment } from './operator/unmatched-payment';
export { UnmatchedPayments } from './operator/unmatched-payments';
export { orderMigrations } from './migrations/order-migrations';
export {
  type MinorUnits,
  type NewAttempt,
  type NewOrder,
  type NewOrderLine,
  type PlaceRejection,
  type PlaceResult,
} from './new-order';
export { type ClosingReason, type LockedOrder, type Order } from './order';
export { type OrderEventType } from './order-events';
export { OrderPolicies } from './order-policies';
export { type OrderPolicy, type OrderPolicyOptions, POLICIES, POLICY_WORDS } from './order-policy-options';
export { canTransition, ORDER_STATUSES, type OrderStatus, TRANSITIONS } from './order-status';
export {
  type AttemptsNow,
  type LockedBatch,
  ORDER_STORE,
  type OrderStore,
  type UnexpectedHandling,
  type UnexpectedMoney,
  type UnexpectedReason,
} from './order-store';
export {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  paymentTimeout,
  reminderTimeout,
} from './order-timeouts';
export { type AttemptView, type OrderLineView, type OrderView } from './order-view';
export { ORDER_PROVIDERS, ORDERS_OPTIONS, type OrdersOptions } from './orders.providers';
export { ATTEMPT_STATUSES, type AttemptStatus, type PaymentAttempt } from './payment-attempt';
export { PlaceOrders } from './place-orders';
export { type HistoryEntry, ReadHistory } from './read-history';
export { ReadOrder } from './read-order';
export { RegisterAttempt, type RegisterAttemptResult } from './register-attempt';
export { ReconcilePayments } from './reconcile-payments';
export { RemindBeforeDeadline } from './remind-before-deadline';
export { ErasePersonalData, type ErasePersonalDataResult, type ErasureRequest } from './retention/erase-personal-data';
export { type OpenItem } from './retention/open-items';
export { Purge, type PurgeCounts, type PurgeRun } from './retention/purge';
export { resolveRetention, type RetentionOptions } from './retention/retention-options';
export { SetAutoClose, type SetAutoCloseResult } from './set-auto-close';
export { SqlOrderStore } from './sql-order-store';
export { UnsupportedIsolationLevelError } from './unsupported-isolation-level-error';
export { TakeNotification } from './take-notification';
export { type Transition } from './transition';
export { type ActionContext, BY_API, TRANSITION_CAUSES, type TransitionCause } from './transition-cause';
