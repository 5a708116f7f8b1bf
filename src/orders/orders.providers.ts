import { type Provider } from '@nestjs/common';
import { CLOCK, type Clock } from '../clock';
import { Outbox } from '../outbox';
import { ChangeStock, Inventory } from '../inventory';
import { PaymentObservers, PaymentProviders } from '../payments';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutScheduler } from '../timeouts';
import { construct, constructWith } from './construct';
import { PaymentLookups } from './lookup/payment-lookups';
import { CancelOrder } from './close/cancel-order';
import { CheckPayment } from './pay/check-payment';
import { CloseUnpaidOrders } from './close/close-unpaid-orders';
import { ExtendDeadline } from './deadline/extend-deadline';
import { HandleUnmatched } from './unmatched/handle-unmatched';
import { UNMATCHED_PROVIDERS } from './unmatched/unmatched.providers';
import { PaymentWatch } from './unmatched/payment-watch';
import { RefundRows } from './unmatched/refund-rows';
import { MarkPaid } from './pay/mark-paid';
import { OPERATOR_PROVIDERS } from './operator/operator.providers';
import { OrderEventLog } from './order-event-log';
import { OrderListeners } from './listeners/order-listeners';
import { OrderTransaction } from './order-transaction';
import { OrderMerchants } from './sql/order-merchants';
import { OrderPolicies } from './order-policies';
import { Orders } from './orders';
import { type OrderPolicyOptions } from './order-policy-options';
import { OrderStore } from './sql/order-store';
import { AnnounceRefusals } from './place/announce-refusals';
import { PlaceOrders } from './place/place-orders';
import { ReadHistory } from './read/read-history';
import { ListOrders } from './read/list-orders';
import { ReadOrder } from './read/read-order';
import { NoteUnmatchedMoney } from './unmatched/note-unmatched-money';
import { ReconcilePayments } from './pay/reconcile-payments';
import { ReleaseClaims } from './pay/release-claims';
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
    provide: ChangeStock,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, Inventory],
    useFactory: ({ dataSource, schema }: Base, stock: Inventory) => new ChangeStock(dataSource, stock, schema),
  },
  {
    provide: OrderStore,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, Inventory, OrderListeners, PaymentProviders],
    useFactory: (
      { dataSource, schema, hasOutboxReader }: Base,
      stock: Inventory,
      listeners: OrderListeners,
      providers: PaymentProviders,
    ) => new OrderStore(dataSource, schema, stock, { audience: listeners, writesEvents: hasOutboxReader }, providers),
  },
  construct(OrderListeners, TimeoutScheduler),
  construct(OrderEventLog, Outbox, OrderListeners),
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
    inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutScheduler, Inventory, OrderPolicies, PaymentProviders, OrderListeners],
    useFactory: (
      { dataSource, schema, hasOutboxReader }: Base,
      scheduler: TimeoutScheduler,
      inventory: Inventory,
      policies: OrderPolicies,
      providers: PaymentProviders,
      audience: OrderListeners,
    ) => {
      const reporting = { audience, writesEvents: hasOutboxReader };
      return new PlaceOrders({ dataSource, schema, scheduler, inventory, policies, providers, reporting });
    },
  },
  {
    provide: ReadOrder,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutScheduler],
    useFactory: ({ dataSource, schema }: Base, scheduler: TimeoutScheduler) =>
      new ReadOrder(dataSource, scheduler, schema),
  },
  {
    provide: ListOrders,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, TimeoutScheduler, CLOCK],
    useFactory: ({ dataSource, schema }: Base, scheduler: TimeoutScheduler, clock: Clock) =>
      new ListOrders({ dataSource, schema, scheduler, clock }),
  },
  {
    provide: ReadHistory,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: Base) => new ReadHistory(dataSource, schema),
  },
  {
    provide: AnnounceRefusals,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, OrderEventLog],
    useFactory: ({ dataSource }: Base, events: OrderEventLog) => new AnnounceRefusals(dataSource, events),
  },
  construct(RegisterAttempt, OrderTransaction, OrderPolicies, PaymentProviders),
  construct(MarkPaid, OrderTransaction, HandleUnmatched, PaymentWatch, PaymentProviders),
  {
    provide: HandleWebhook,
    inject: [
      PaymentProviders,
      PaymentObservers,
      OrderStore,
      RESOLVED_TIMEOUTS_OPTIONS,
      MarkPaid,
      TimeoutScheduler,
      RefundRows,
    ],
    useFactory: (
      providers: PaymentProviders,
      observers: PaymentObservers,
      store: OrderStore,
      { dataSource }: Base,
      markPaid: MarkPaid,
      scheduler: TimeoutScheduler,
      refunds: RefundRows,
    ) => new HandleWebhook({ providers, observers, store, dataSource, markPaid, scheduler, refunds }),
  },
  construct(CheckPayment, OrderStore, PaymentLookups, MarkPaid, ReadOrder),
  construct(ExtendDeadline, OrderTransaction, OrderPolicies),
  construct(CancelOrder, OrderTransaction, PaymentWatch, NoteUnmatchedMoney),
  construct(SetAutoClose, OrderTransaction),
];

const deadlines: Provider[] = [
  construct(PaymentLookups, PaymentProviders),
  constructWith(CloseUnpaidOrders, {
    store: OrderStore,
    providers: PaymentLookups,
    policies: OrderPolicies,
    unmatched: HandleUnmatched,
    found: NoteUnmatchedMoney,
    watch: PaymentWatch,
    scheduler: TimeoutScheduler,
  }),
  constructWith(ReconcilePayments, {
    store: OrderStore,
    providers: PaymentLookups,
    markPaid: MarkPaid,
    unmatched: HandleUnmatched,
    claims: ReleaseClaims,
    scheduler: TimeoutScheduler,
  }),
  construct(ReleaseClaims, OrderTransaction, PaymentWatch),
  construct(RemindBeforeDeadline, OrderStore, OrderEventLog),
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
