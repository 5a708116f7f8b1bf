export { PaymentLookups } from './lookup/payment-lookups';
export { type AttemptFinding, type Finding } from './lookup/attempt-finding';
export { CancelOrder, type CancelOrderResult } from './close/cancel-order';
export { CheckPayment, type CheckPaymentResult } from './pay/check-payment';
export { CloseUnpaidOrders } from './close/close-unpaid-orders';
export { ExtendDeadline, type ExtendDeadlineResult, type NewDeadline } from './deadline/extend-deadline';
export { InvalidOrderError } from './invalid-order-error';
export { HandleUnmatched } from './unmatched/handle-unmatched';
export { PaymentWatch } from './unmatched/payment-watch';
export { type Refund, refundNumber, type RefundReason } from './unmatched/refund';
export { RefundPayments } from './unmatched/refund-payments';
export { WatchEndedOrders } from './unmatched/watch-ended-orders';
export { LIMITS } from './limits';
export { MarkPaid } from './pay/mark-paid';
export { type MarkPaidResult } from './pay/mark-paid-result';
export { type ReportedPayment } from './pay/reported-payment';
export { AssignUnmatched, type AssignUnmatchedResult, type UnmatchedAssignment } from './unmatched/assign-unmatched';
export { CloseOrder, type CloseOrderResult, type ManualClose } from './operator/close-order';
export { type ManualRefund, RefundPayment, type RefundPaymentResult } from './operator/refund-payment';
export { ReviveOrder, type ReviveOrderResult } from './operator/revive-order';
export { SettleUnmatched, type SettleUnmatchedResult, type UnmatchedSettlement } from './unmatched/settle-unmatched';
export { type UnmatchedPayment } from './unmatched/unmatched-payment';
export { UnmatchedPayments } from './unmatched/unmatched-payments';
export { orderMigrations } from './migrations/order-migrations';
export {
  type MinorUnits,
  type NewAttempt,
  type NewOrder,
  type NewOrderLine,
  type PlaceRejection,
  type PlaceResult,
} from './place/new-order';
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
export { PlaceOrders } from './place/place-orders';
export { type HistoryEntry, ReadHistory } from './read/read-history';
export { ReadOrder } from './read/read-order';
export { RegisterAttempt, type RegisterAttemptResult } from './pay/register-attempt';
export { ReconcilePayments } from './pay/reconcile-payments';
export { RemindBeforeDeadline } from './deadline/remind-before-deadline';
export { ErasePersonalData, type ErasePersonalDataResult, type ErasureRequest } from './retention/erase-personal-data';
export { type OpenItem } from './retention/open-items';
export { Purge, type PurgeCounts, type PurgeRun } from './retention/purge';
export { resolveRetention, type RetentionOptions } from './retention/retention-options';
export { SetAutoClose, type SetAutoCloseResult } from './deadline/set-auto-close';
export { SqlOrderStore } from './sql/sql-order-store';
export { HandleWebhook } from './pay/handle-webhook';
export { type Transition } from './transition';
export { type ActionContext, BY_API, TRANSITION_CAUSES, type TransitionCause } from './transition-cause';
export { OrderMerchants } from './sql/order-merchants';
export { merchantTimeouts } from './sql/merchant-timeouts';
