export {
  type ActionOptions,
  type LookUpOptions,
  type OperatorOptions,
  ORDER_EVENT_TYPES,
  type OrderEventType,
  type ActionContext,
  type Actor,
  TRANSITION_CAUSES,
  type TransitionCause,
} from './model/transition';
export { type CancelOrderResult, type Cancellation, type CloseOrderResult, type ManualClose } from './close/end-order';
export { type CheckPaymentResult } from './pay/reconcile-payments';
export {
  type ExtendDeadlineResult,
  type NewDeadline,
  type AutoCloseChange,
  type SetAutoCloseResult,
} from './deadline/deadline';
export { InvalidOrderError } from './model/errors';
export {
  LIMITS,
  OrderPolicies,
  type OrderPolicy,
  type OrderPolicyOptions,
  orderPolicyOptions,
} from './model/order-policies';
export { type MarkPaidResult } from './pay/mark-paid';
export { type ReportedPayment } from './model/reported-payment';
export { type AssignUnmatchedResult, type UnmatchedAssignment } from './operator/assign-unmatched';
export {
  type ManualRefund,
  type RefundPaymentResult,
  type Revival,
  type ReviveOrderResult,
} from './operator/refund-and-revive';
export {
  type ReopenUnmatchedResult,
  type SettleUnmatchedResult,
  type UnmatchedSettlement,
  type UnmatchedPage,
  UnmatchedPayments,
} from './operator/settle-unmatched';
export { type UnmatchedPayment } from './unmatched/unmatched-payment';
export { orderMigrations } from './migrations/orders';
export {
  ORDER_LATE_WATCH,
  ORDER_PAYMENT,
  ORDER_REMINDER,
  PAYMENT_RECONCILIATION,
  PAYMENT_REFUND,
  ORDER_KINDS,
} from './model/order-timeouts';
export {
  type CheckedOrder,
  type MinorUnits,
  type NewAttempt,
  type NewOrder,
  type NewOrderLine,
  type OrderAttempt,
  type PlaceRejection,
  type PlaceResult,
} from './model/new-order';
export {
  deliveryLimits,
  OnOrder,
  type OrderDelivery,
  OnOrderInTransaction,
  type OrderListenerOptions,
  OrderListenerExplorer,
  findSilentListeners,
  registerListeners,
} from './listeners/on-order';
export {
  type OrderEvent,
  type OrderEventFacts,
  type OrderEventHead,
  type OrderEventName,
  type OrderChangeFacts,
  type OrderFacts,
  type PlacedFacts,
  type RefundFacts,
  type RefusedFacts,
  type ReminderFacts,
  type UnmatchedPaymentFacts,
  OrderListeners,
} from './listeners/order-listeners';
export { AnnounceRefusals } from './place/announce-refusals';
export { PlaceOrders } from './place/place-orders';
export { rehearseOrder } from './place/insert-orders';
export { Orders } from './orders';
export {
  ORDER_STATUSES,
  type OrderStatus,
  type AttemptView,
  type OrderLineView,
  type OrderView,
  ATTEMPT_STATUSES,
  type AttemptStatus,
} from './model/order';
export {
  findFailingProviders,
  findPieces,
  findUndecided,
  openAttemptProviders,
  merchantTimeouts,
} from './read/find-pieces';
export { type UnmatchedHandling, type UnmatchedReason } from './model/unmatched-money';
export { ORDER_PROVIDERS, ORDERS_OPTIONS, type OrdersOptions } from './orders.providers';
export {
  type OrderList,
  type OrderPage,
  ListOrders,
  type OrderSummary,
  SummarizeOrders,
  type HistoryEntry,
  type DossierRefund,
  type OrderDossier,
  ReadDossier,
} from './read/read-orders';
export { type OrderFilter, type ScopedFilter, encodePosition } from './model/order-filter';
export {
  BulkActions,
  type BulkOptions,
  type BulkExtension,
  type BulkFilter,
  type BulkOutcome,
  type BulkRequest,
  type BulkResult,
} from './operator/bulk-actions';
export { type RegisterAttemptResult } from './pay/register-attempt';
export { type ErasePersonalDataResult, type ErasureRequest, type OpenItem } from './retention/purge-orders';
export { Purge, type PurgeCounts, type PurgeRun, retentionOptions, type RetentionOptions } from './retention/purge';
export { OrderMerchants } from './sql/order-rows';
export { type WithoutPersonalData, withoutPersonalData } from './sql/personal-data';
export { NoteOnOrders, type PersonalData, RevealPersonalData } from './operator/personal-data';
export { PAYMENT_NAME_KEY } from './sql/handled-payments';
export {
  orderEntities,
  OrderEntity,
  OrderHistoryEntity,
  OrderLineEntity,
  PaymentAttemptEntity,
  RefundEntity,
  UnmatchedPaymentEntity,
} from './entities';
export { ReservationEntity, StockEntity } from '../inventory';
