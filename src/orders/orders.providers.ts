import { type Provider } from '@nestjs/common';
import { Outbox } from '../outbox';
import { Inventory } from '../inventory';
import { PaymentObservers, PaymentProviders } from '../payments';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutScheduler } from '../timeouts';
import { PaymentLookups } from './lookup/payment-lookups';
import { CancelOrder } from './close/cancel-order';
import { CheckPayment } from './pay/check-payment';
import { CloseUnpaidOrders } from './close/close-unpaid-orders';
import { ExtendDeadline } from './deadline/extend-deadline';
import { HandleUnmatched } from './unmatched/handle-unmatched';
import { UNMATCHED_PROVIDERS } from './unmatched/unmatched.providers';
import { PaymentWatch } from './unmatched/payment-watch';
import { MarkPaid } from './pay/mark-paid';
import { OPERATOR_PROVIDERS } from './operator/operator.providers';
import { OrderTransaction } from './order-transaction';
import { OrderMerchants } from './sql/order-merchants';
import { OrderPolicies } from './order-policies';
import { Orders } from './orders';
import { type OrderPolicyOptions } from './order-policy-options';
import { OrderStore } from './sql/order-store';
import { PlaceOrders } from './place/place-orders';
import { ReadHistory } from './read/read-history';
import { ReadOrder } from './read/read-order';
import { NoteUnmatchedMoney } from './unmatched/note-unmatched-money';
import { ReconcilePayments } from './pay/reconcile-payments';
import { RegisterAttempt } from './pay/register-attempt';
import { RemindBeforeDeadline } from './deadline/remind-before-deadline';
import { type RetentionOptions } from './retention/retention-options';
import { retentionProviders } from './retention/retention.providers';
import { SetAutoClose } from './deadline/set-auto-close';
import { HandleWebhook } from './pay/handle-webhook';

/** Options of the orders. */
export interface OrdersOptions {
  /** Payment windows, grace, and reminders. */
  readonly policies?: OrderPolicyOptions;
  /** How long finished data is kept. */
  readonly retention?: RetentionOptions;
}

/** Injection token of OrdersOptions. The module that lists ORDER_PROVIDERS must provide it. */
export const ORDERS_OPTIONS = Symbol('order-timeout:orders-options');

type Base = ResolvedTimeoutsOptions;

const tables: Provider[] = [
  { provide: Inventory, inject: [RESOLVED_TIMEOUTS_OPTIONS], useFactory: ({ schema }: Base) => new Inventory(schema) },
  {
    provide: OrderStore,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, Inventory],
    useFactory: ({ dataSource, schema }: Base, stock: Inventory) => new OrderStore(dataSource, schema, stock),
  },
  {
    provide: OrderMerchants,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: Base) => new OrderMerchants(dataSource, schema),
  },
  {
    provide: OrderPolicies,
    inject: [ORDERS_OPTIONS],
    useFactory: ({ policies }: OrdersOptions) => new OrderPolicies(policies),
  },
  {
    provide: OrderTransaction,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, OrderStore, TimeoutScheduler],
    useFactory: ({ dataSource, schema }: Base, store: OrderStore, scheduler: TimeoutScheduler) =>
      new OrderTransaction({ dataSource, schema, store, scheduler }),
  },
];

const useCases: Provider[] = [
  {
    provide: PlaceOrders,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutScheduler, Inventory, OrderPolicies, PaymentProviders],
    useFactory: (
      { dataSource, schema }: Base,
      scheduler: TimeoutScheduler,
      inventory: Inventory,
      policies: OrderPolicies,
      providers: PaymentProviders,
    ) => new PlaceOrders({ dataSource, schema, scheduler, inventory, policies, providers }),
  },
  {
    provide: ReadOrder,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutScheduler],
    useFactory: ({ dataSource, schema }: Base, scheduler: TimeoutScheduler) =>
      new ReadOrder(dataSource, scheduler, schema),
  },
  {
    provide: ReadHistory,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: Base) => new ReadHistory(dataSource, schema),
  },
  {
    provide: RegisterAttempt,
    inject: [OrderTransaction, OrderPolicies, PaymentProviders],
    useFactory: (desk: OrderTransaction, policies: OrderPolicies, providers: PaymentProviders) =>
      new RegisterAttempt(desk, policies, providers),
  },
  {
    provide: MarkPaid,
    inject: [OrderTransaction, HandleUnmatched, PaymentWatch, PaymentProviders],
    useFactory: (
      desk: OrderTransaction,
      unmatched: HandleUnmatched,
      watch: PaymentWatch,
      providers: PaymentProviders,
    ) => new MarkPaid(desk, unmatched, watch, providers),
  },
  {
    provide: HandleWebhook,
    inject: [PaymentProviders, PaymentObservers, OrderStore, RESOLVED_TIMEOUTS_OPTIONS, MarkPaid, TimeoutScheduler],
    useFactory: (
      providers: PaymentProviders,
      observers: PaymentObservers,
      store: OrderStore,
      { dataSource }: Base,
      markPaid: MarkPaid,
      scheduler: TimeoutScheduler,
    ) => new HandleWebhook({ providers, observers, store, dataSource, markPaid, scheduler }),
  },
  {
    provide: CheckPayment,
    inject: [OrderStore, PaymentLookups, MarkPaid, ReadOrder],
    useFactory: (store: OrderStore, ask: PaymentLookups, markPaid: MarkPaid, read: ReadOrder) =>
      new CheckPayment(store, ask, markPaid, read),
  },
  {
    provide: ExtendDeadline,
    inject: [OrderTransaction, OrderPolicies],
    useFactory: (desk: OrderTransaction, policies: OrderPolicies) => new ExtendDeadline(desk, policies),
  },
  {
    provide: CancelOrder,
    inject: [OrderTransaction, PaymentWatch],
    useFactory: (desk: OrderTransaction, watch: PaymentWatch) => new CancelOrder(desk, watch),
  },
  { provide: SetAutoClose, inject: [OrderTransaction], useFactory: (desk: OrderTransaction) => new SetAutoClose(desk) },
];

const deadlines: Provider[] = [
  {
    provide: PaymentLookups,
    inject: [PaymentProviders],
    useFactory: (providers: PaymentProviders) => new PaymentLookups(providers),
  },
  {
    provide: CloseUnpaidOrders,
    inject: [OrderStore, PaymentLookups, OrderPolicies, HandleUnmatched, NoteUnmatchedMoney, PaymentWatch],
    useFactory: (
      store: OrderStore,
      providers: PaymentLookups,
      policies: OrderPolicies,
      unmatched: HandleUnmatched,
      found: NoteUnmatchedMoney,
      watch: PaymentWatch,
    ) => new CloseUnpaidOrders({ store, providers, policies, unmatched, found, watch }),
  },
  {
    provide: ReconcilePayments,
    inject: [OrderStore, PaymentLookups, MarkPaid, HandleUnmatched],
    useFactory: (store: OrderStore, providers: PaymentLookups, markPaid: MarkPaid, unmatched: HandleUnmatched) =>
      new ReconcilePayments({ store, providers, markPaid, unmatched }),
  },
  {
    provide: RemindBeforeDeadline,
    inject: [OrderStore, Outbox],
    useFactory: (store: OrderStore, outbox: Outbox) => new RemindBeforeDeadline(store, outbox),
  },
];

/** All providers of the orders. They also need ORDERS_OPTIONS, PaymentProviders, and TimeoutsModule. */
export const ORDER_PROVIDERS: Provider[] = [
  ...tables,
  ...useCases,
  ...deadlines,
  ...UNMATCHED_PROVIDERS,
  ...OPERATOR_PROVIDERS,
  ...retentionProviders(ORDERS_OPTIONS),
  Orders,
];
