export { type ActionOptions, type LookUpOptions, type OperatorOptions } from './action-options';
export { PaymentLookups } from './lookup/payment-lookups';
export { type AttemptFinding, type Finding } from './lookup/attempt-finding';
export { type CancelOrderResult, type Cancellation } from './close/cancel-order';
export { type CheckPaymentResult } from './pay/check-payment';
export { CloseUnpaidOrders } from './close/close-unpaid-orders';
export { type ExtendDeadlineResult, type NewDeadline } from './deadline/extend-deadline';
export { InvalidOrderError } from './invalid-order-error';
export { HandleUnmatched } from './unmatched/handle-unmatched';
export { PaymentWatch } from './unmatched/payment-watch';
export { type Refund, refundNumber, type RefundReason } from './unmatched/refund';
export { RefundPayments } from './unmatched/refund-payments';
export { WatchEndedOrders } from './unmatched/watch-ended-orders';
export { LIMITS } from './limits';
export { type MarkPaidResult } from './pay/mark-paid-result';
export { type ReportedPayment } from './pay/reported-payment';
export { type AssignUnmatchedResult, type UnmatchedAssignment } from './unmatched/assign-unmatched';
export { type CloseOrderResult, type ManualClose } from './operator/close-order';
export { type ManualRefund, type RefundPaymentResult } from './operator/refund-payment';
export { type Revival, type ReviveOrderResult } from './operator/revive-order';
export { type SettleUnmatchedResult, type UnmatchedSettlement } from './unmatched/settle-unmatched';
export { type UnmatchedPayment } from './unmatched/unmatched-payment';
export { type UnmatchedPage, UnmatchedPayments } from './unmatched/unmatched-payments';
export { orderMigrations } from './migrations/order-migrations';
export {
  type MinorUnits,
  type NewAttempt,
  type NewOrder,
  type NewOrderLine,
  type OrderAttempt,
  type PlaceRejection,
  type PlaceResult,
} from './place/new-order';
export { type ClosingReason, type LockedOrder, type Order } from './order';
export { type OrderEventType } from './order-events';
export { OrderPolicies } from './order-policies';
export { Orders } from './orders';
export { type OrderPolicy, type OrderPolicyOptions, POLICIES, POLICY_WORDS } from './order-policy-options';
export { canTransition, ORDER_STATUSES, type OrderStatus, TRANSITIONS } from './order-status';
export {
  type AttemptsNow,
  type LockedBatch,
  ORDER_STORE,
  type OrderStore,
  type UnmatchedHandling,
  type UnmatchedMoney,
  type UnmatchedReason,
} from './sql/order-store';
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
export { ATTEMPT_STATUSES, type AttemptStatus } from './attempt-status';
export { type PaymentAttempt } from './payment-attempt';
export { type HistoryEntry } from './read/read-history';
export { type RegisterAttemptResult } from './pay/register-attempt';
export { ReconcilePayments } from './pay/reconcile-payments';
export { RemindBeforeDeadline } from './deadline/remind-before-deadline';
export { type ErasePersonalDataResult, type ErasureRequest } from './retention/erase-personal-data';
export { type OpenItem } from './retention/open-items';
export { Purge, type PurgeCounts, type PurgeRun } from './retention/purge';
export { resolveRetention, type RetentionOptions } from './retention/retention-options';
export { type AutoCloseChange, type SetAutoCloseResult } from './deadline/set-auto-close';
export { SqlOrderStore } from './sql/sql-order-store';
export { type Transition } from './transition';
export { type ActionContext, type Actor, TRANSITION_CAUSES, type TransitionCause } from './transition-cause';
export { OrderMerchants } from './sql/order-merchants';
export { merchantTimeouts } from './sql/merchant-timeouts';
