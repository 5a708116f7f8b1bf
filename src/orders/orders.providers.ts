import { type Provider } from '@nestjs/common';
import { Database } from '../database';
import { ChangeStock, Inventory, StockOwners } from '../inventory';
import { EndOrder } from './close/end-order';
import { CloseUnpaidOrders } from './close/close-unpaid-orders';
import { Deadlines, RemindBeforeDeadline } from './deadline/deadline';
import { OrderEventLog, OrderListeners } from './listeners/order-listeners';
import { PaymentLookups } from './lookup/payment-lookups';
import { OrderPolicies, type OrderPolicyOptions } from './model/order-policies';
import { AssignUnmatched } from './operator/assign-unmatched';
import { BulkActions, BulkRun } from './operator/bulk-actions';
import { NoteOnOrders, RevealPersonalData } from './operator/personal-data';
import { RefundPayment, ReviveOrder } from './operator/refund-and-revive';
import { SettleUnmatched, UnmatchedPayments } from './operator/settle-unmatched';
import { Orders } from './orders';
import { ClaimPayment, MarkPaid } from './pay/mark-paid';
import { HandleNotification } from './pay/handle-notification';
import { CheckPayment, ReconcilePayments, ReleaseClaims } from './pay/reconcile-payments';
import { RegisterAttempt } from './pay/register-attempt';
import { AnnounceRefusals } from './place/announce-refusals';
import { PlaceOrders } from './place/place-orders';
import { ListOrders, SummarizeOrders, ReadDossier, ReadOrder } from './read/read-orders';
import {
  Purge,
  PURGE_STEPS,
  PurgeLoop,
  purgeSteps,
  RESOLVED_RETENTION,
  resolveRetention,
  type RetentionOptions,
} from './retention/purge';
import { ErasePersonalData } from './retention/purge-orders';
import { ContestedRows } from './sql/attempts';
import { KeepUnmatchedMoney } from './sql/keep-unmatched-money';
import { SettledPayments } from './sql/handled-payments';
import { InsertOrders } from './place/insert-orders';
import { OrderMerchants, ReadAttempts } from './sql/order-rows';
import { OrderStore } from './sql/order-store';
import { OrderTransaction } from './sql/order-transaction';
import { HandleUnmatched } from './unmatched/handle-unmatched';
import { NoteUnmatchedMoney } from './unmatched/note-unmatched-money';
import { PaymentWatch, WatchEndedOrders } from './unmatched/payment-watch';
import { RefundPayments, RefundRows } from './unmatched/refunds';
import { UnmatchedRows } from './unmatched/unmatched-payment';

/** Options of the orders. */
export interface OrdersOptions {
  /** Payment windows, grace, and reminders. */
  readonly policies?: OrderPolicyOptions;
  /** How long finished data is kept. */
  readonly retention?: RetentionOptions;
}

/** Injection token of OrdersOptions. The module that lists ORDER_PROVIDERS must provide it. */
export const ORDERS_OPTIONS = Symbol('order-timeout:orders-options');

const tables = [
  ...[Inventory, ChangeStock, StockOwners, OrderListeners, OrderEventLog, OrderStore, OrderTransaction, OrderMerchants],
  ...[ReadAttempts, InsertOrders, ContestedRows, KeepUnmatchedMoney, SettledPayments, RefundRows, UnmatchedRows],
];

const timeoutHandlers = [
  ...[CloseUnpaidOrders, RemindBeforeDeadline, ReconcilePayments, WatchEndedOrders, RefundPayments],
];

const useCases = [
  ...[PlaceOrders, AnnounceRefusals, ReadOrder, ListOrders, SummarizeOrders, ReadDossier],
  ...[RegisterAttempt, ClaimPayment, MarkPaid, CheckPayment, HandleNotification, ReleaseClaims, PaymentLookups],
  ...[Deadlines, EndOrder, ReviveOrder, RefundPayment, BulkRun, BulkActions],
  ...[HandleUnmatched, NoteUnmatchedMoney, PaymentWatch, UnmatchedPayments, AssignUnmatched, SettleUnmatched],
  ...[RevealPersonalData, NoteOnOrders, ErasePersonalData, Purge, PurgeLoop, Orders],
];

/** All providers of the orders. They also need ORDERS_OPTIONS, PaymentProviders, PaymentObservers, and TimeoutsModule. */
export const ORDER_PROVIDERS: Provider[] = [
  {
    provide: OrderPolicies,
    inject: [ORDERS_OPTIONS],
    useFactory: ({ policies }: OrdersOptions) => new OrderPolicies(policies),
  },
  {
    provide: RESOLVED_RETENTION,
    inject: [ORDERS_OPTIONS],
    useFactory: ({ retention }: OrdersOptions) => resolveRetention(retention),
  },
  { provide: PURGE_STEPS, inject: [Database, Inventory, OrderListeners, RESOLVED_RETENTION], useFactory: purgeSteps },
  ...tables,
  ...timeoutHandlers,
  ...useCases,
];
