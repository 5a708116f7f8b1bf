export { type ActionOptions, type LookUpOptions, type OperatorOptions } from './action-options';
export { type CancelOrderResult, type Cancellation } from './close/cancel-order';
export { type CheckPaymentResult } from './pay/check-payment';
export { type ExtendDeadlineResult, type NewDeadline } from './deadline/extend-deadline';
export { InvalidOrderError } from './invalid-order-error';
export { LIMITS } from './limits';
export { type MarkPaidResult } from './pay/mark-paid-result';
export { type ReportedPayment } from './pay/reported-payment';
export { type AssignUnmatchedResult, type UnmatchedAssignment } from './unmatched/assign-unmatched';
export { type CloseOrderResult, type ManualClose } from './operator/close-order';
export { type ManualRefund, type RefundPaymentResult } from './operator/refund-payment';
export { type Revival, type ReviveOrderResult } from './operator/revive-order';
export {
  type ReopenUnmatchedResult,
  type SettleUnmatchedResult,
  type UnmatchedSettlement,
} from './unmatched/settle-unmatched';
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
export { deliveryLimits } from './listeners/delivery-limits';
export { OnOrder, type OrderDelivery } from './listeners/on-order.decorator';
export { OnOrderInTransaction } from './listeners/on-order-in-transaction.decorator';
export {
  type OrderEvent,
  type OrderEventFacts,
  type OrderEventHead,
  type OrderEventName,
} from './listeners/order-event';
export {
  type OrderChangeFacts,
  type OrderFacts,
  type PlacedFacts,
  type RefundFacts,
  type RefusedFacts,
  type ReminderFacts,
  type UnmatchedPaymentFacts,
} from './listeners/order-event';
export { OrderListenerExplorer } from './listeners/order-listener.explorer';
export { type OrderListenerOptions } from './listeners/order-listener-options';
export { OrderListeners } from './listeners/order-listeners';
export { findSilentListeners } from './listeners/find-silent-listeners';
export { registerListeners } from './listeners/register-listeners';
export { ORDER_EVENT_TYPES, type OrderEventType } from './order-events';
export { AnnounceRefusals, type RefusedOrder } from './place/announce-refusals';
export { OrderPolicies } from './order-policies';
export { Orders } from './orders';
export { type OrderPolicy, type OrderPolicyOptions, POLICIES, POLICY_WORDS } from './order-policy-options';
export { ORDER_STATUSES, type OrderStatus } from './order-status';
export { findFailingProviders, findPieces, findUndecided } from './read/find-pieces';
export { openAttemptProviders } from './close/open-attempt-providers';
export { type UnmatchedHandling, type UnmatchedReason } from './unmatched/unmatched-money';
export {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
} from './order-timeouts';
export { type AttemptView, type OrderLineView, type OrderView } from './order-view';
export { ORDER_PROVIDERS, ORDERS_OPTIONS, type OrdersOptions } from './orders.providers';
export { ATTEMPT_STATUSES, type AttemptStatus } from './attempt-status';
export { ORDER_KINDS } from './order-kinds';
export { type OrderList, type OrderPage } from './read/list-orders';
export { type OrderFilter, type ScopedFilter } from './read/order-filter';
export { encodePosition } from './read/order-position';
export { BulkActions, type BulkOptions } from './operator/bulk-actions';
export {
  type BulkExtension,
  type BulkFilter,
  type BulkOutcome,
  type BulkRequest,
  type BulkResult,
} from './operator/bulk-request';
export { type HistoryEntry } from './read/read-history';
export { type RegisterAttemptResult } from './pay/register-attempt';
export { type ErasePersonalDataResult, type ErasureRequest } from './retention/erase-personal-data';
export { type OpenItem } from './retention/open-items';
export { Purge, type PurgeCounts, type PurgeRun } from './retention/purge';
export { resolveRetention, type RetentionOptions } from './retention/retention-options';
export { type AutoCloseChange, type SetAutoCloseResult } from './deadline/set-auto-close';
export { type ActionContext, type Actor, TRANSITION_CAUSES, type TransitionCause } from './transition-cause';
export { OrderMerchants } from './sql/order-merchants';
export { merchantTimeouts } from './sql/merchant-timeouts';
export { ListOrders } from './read/list-orders';
export { type DossierRefund, type OrderDossier, ReadDossier } from './read/read-dossier';
export { type OrderSummary, SummarizeOrders } from './read/summarize-orders';
export { NoteOnOrders } from './operator/note-on-orders';
export { type PersonalData, RevealPersonalData } from './operator/reveal-personal-data';
export { PAYMENT_NAME_KEY } from './sql/handled-payments';
