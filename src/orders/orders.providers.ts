import { type Provider } from '@nestjs/common';
import { CLOCK, type Clock } from '../clock';
import { Outbox } from '../outbox';
import { ChangeStock, Inventory } from '../inventory';
import { PaymentObservers, PaymentProviders } from '../payments';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutScheduler } from '../timeouts';
import { PaymentLookups } from './lookup/payment-lookups';
import { CancelOrder } from './close/cancel-order';
import { CheckPayment, ReconcilePayments, ReleaseClaims } from './pay/reconcile-payments';
import { CloseUnpaidOrders } from './close/close-unpaid-orders';
import { ExtendDeadline, RemindBeforeDeadline, SetAutoClose } from './deadline/deadline';
import { HandleUnmatched } from './unmatched/handle-unmatched';
import { PaymentWatch } from './unmatched/payment-watch';
import { RefundRows } from './unmatched/refund-rows';
import { MarkPaid } from './pay/mark-paid';
import { OrderEventLog, OrderListeners } from './listeners/order-listeners';
import { OrderTransaction } from './sql/order-transaction';
import { OrderMerchants } from './sql/order-rows';
import { OrderPolicies, type OrderPolicyOptions } from './model/order-policies';
import { Orders } from './orders';
import { OrderStore } from './sql/order-store';
import { AnnounceRefusals, PlaceOrders } from './place/place-orders';
import { ReadHistory, ReadOrder } from './read/read-order';
import { ListOrders, SummarizeOrders } from './read/list-orders';
import { NoteUnmatchedMoney } from './unmatched/note-unmatched-money';
import { RegisterAttempt } from './pay/register-attempt';
import {
  type RetentionOptions,
  Purge,
  PurgeLoop,
  idempotencyKeys,
  PurgeRows,
  settledMoney,
  resolveRetention,
  type ResolvedRetentionOptions,
} from './retention/purge';
import { HandleWebhook } from './pay/handle-webhook';
import { ReadDossier } from './read/read-dossier';
import { AssignUnmatched } from './operator/assign-unmatched';
import { BulkActions, BulkRun } from './operator/bulk-actions';
import { CloseOrder } from './operator/close-order';
import { NoteOnOrders, RevealPersonalData } from './operator/personal-data';
import { RefundPayment } from './operator/refund-payment';
import { ReviveOrder } from './operator/revive-order';
import { SettleUnmatched, UnmatchedPayments } from './operator/settle-unmatched';
import { UnmatchedRows } from './unmatched/unmatched-payment';
import { RefundPayments } from './unmatched/refund-payments';
import { WatchEndedOrders } from './unmatched/watch-ended-orders';
import { ErasePersonalData, PurgeOrders, type PurgeStep } from './retention/purge-orders';

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

/** The actions that only a person decides. */
const OPERATOR_PROVIDERS: Provider[] = [
  {
    provide: UnmatchedRows,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ schema }: ResolvedTimeoutsOptions) => new UnmatchedRows(schema),
  },
  construct(SettleUnmatched, OrderTransaction, UnmatchedRows, PaymentWatch),
  construct(AssignUnmatched, OrderTransaction, UnmatchedRows, MarkPaid, PaymentProviders),
  {
    provide: UnmatchedPayments,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, UnmatchedRows, AssignUnmatched, SettleUnmatched],
    useFactory: (
      { dataSource }: ResolvedTimeoutsOptions,
      rows: UnmatchedRows,
      assigning: AssignUnmatched,
      settling: SettleUnmatched,
    ) => new UnmatchedPayments({ dataSource, rows, assigning, settling }),
  },
  constructWith(RefundPayment, {
    transaction: OrderTransaction,
    unmatched: HandleUnmatched,
    found: NoteUnmatchedMoney,
    markPaid: MarkPaid,
    ask: PaymentLookups,
    providers: PaymentProviders,
  }),
  constructWith(ReviveOrder, {
    transaction: OrderTransaction,
    unmatched: HandleUnmatched,
    found: NoteUnmatchedMoney,
    inventory: Inventory,
    rows: UnmatchedRows,
  }),
  construct(CloseOrder, OrderTransaction, PaymentWatch),
  {
    provide: BulkRun,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, ListOrders, CLOCK],
    useFactory: ({ dataSource }: ResolvedTimeoutsOptions, listing: ListOrders, clock: Clock) =>
      new BulkRun({ dataSource, listing, clock }),
  },
  construct(RevealPersonalData, OrderTransaction),
  construct(NoteOnOrders, OrderTransaction),
  {
    provide: ReadDossier,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new ReadDossier(dataSource, schema),
  },
  {
    provide: SummarizeOrders,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new SummarizeOrders(dataSource, schema),
  },
  construct(BulkActions, BulkRun, ExtendDeadline, CancelOrder, CloseOrder),
];

/** Providers for late, surplus, and partial payments. */
const UNMATCHED_PROVIDERS: Provider[] = [
  {
    provide: RefundRows,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new RefundRows(dataSource, schema),
  },
  construct(NoteUnmatchedMoney, OrderStore, TimeoutScheduler),
  constructWith(HandleUnmatched, {
    store: OrderStore,
    scheduler: TimeoutScheduler,
    policies: OrderPolicies,
    refunds: RefundRows,
    found: NoteUnmatchedMoney,
    providers: PaymentProviders,
  }),
  construct(PaymentWatch, TimeoutScheduler, OrderPolicies),
  constructWith(WatchEndedOrders, {
    store: OrderStore,
    providers: PaymentLookups,
    policies: OrderPolicies,
    unmatched: HandleUnmatched,
    found: NoteUnmatchedMoney,
  }),
  constructWith(RefundPayments, {
    store: OrderStore,
    refunds: RefundRows,
    providers: PaymentLookups,
    events: OrderEventLog,
  }),
];

/** Injection token of ResolvedRetentionOptions. */
const RESOLVED_RETENTION = Symbol('order-timeout:resolved-retention');

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

/** The kinds that are not kept forever. */
export function purgeSteps(
  { dataSource, schema }: Pick<ResolvedTimeoutsOptions, 'dataSource' | 'schema'>,
  inventory: Inventory,
  { finishedOrdersMs, idempotencyKeysMs, settledMoneyMs }: ResolvedRetentionOptions,
  listeners: Pick<OrderListeners, 'kinds'>,
): PurgeStep[] {
  return [
    ...(finishedOrdersMs > 0 ? [new PurgeOrders(dataSource, schema, inventory, finishedOrdersMs, listeners)] : []),
    ...(idempotencyKeysMs > 0 ? [new PurgeRows(dataSource, idempotencyKeys(schema), idempotencyKeysMs)] : []),
    ...(settledMoneyMs > 0 ? [new PurgeRows(dataSource, settledMoney(schema), settledMoneyMs)] : []),
  ];
}

/**
 * Providers of the purge and of the erasure of personal data.
 *
 * @param options injection token of an object with `retention`.
 */
function retentionProviders(options: symbol): Provider[] {
  return [
    {
      provide: RESOLVED_RETENTION,
      inject: [options],
      useFactory: ({ retention }: { retention?: RetentionOptions }) => resolveRetention(retention),
    },
    construct(ErasePersonalData, OrderTransaction, OrderListeners),
    {
      provide: Purge,
      inject: [RESOLVED_TIMEOUTS_OPTIONS, Inventory, RESOLVED_RETENTION, CLOCK, OrderListeners],
      useFactory: (
        base: ResolvedTimeoutsOptions,
        inventory: Inventory,
        retention: ResolvedRetentionOptions,
        clock: Clock,
        listeners: OrderListeners,
      ) => new Purge(purgeSteps(base, inventory, retention, listeners), clock),
    },
    {
      provide: PurgeLoop,
      inject: [Purge, RESOLVED_TIMEOUTS_OPTIONS, RESOLVED_RETENTION, CLOCK],
      useFactory: (
        purge: Purge,
        { consume, isDrivenByTests }: ResolvedTimeoutsOptions,
        { intervalMs }: ResolvedRetentionOptions,
        clock: Clock,
      ) => new PurgeLoop(purge, { intervalMs, isOn: consume && !isDrivenByTests }, clock),
    },
  ];
}

type Token<T> = abstract new (...args: never[]) => T;

/** A provider whose constructor takes the instances of these classes, in order. */
function construct<P extends readonly unknown[]>(
  type: new (...parts: [...P]) => unknown,
  ...tokens: { [I in keyof P]: Token<P[I]> }
): Provider {
  return { provide: type, inject: [...tokens], useFactory: (...parts: [...P]) => new type(...parts) };
}

/** A provider whose constructor takes one object: for each property, the instance of the class that is named. */
function constructWith<D extends object>(
  type: new (deps: D) => unknown,
  tokens: { readonly [K in keyof D]: Token<D[K]> },
): Provider {
  const names = Object.keys(tokens);
  return {
    provide: type,
    inject: Object.values<Token<unknown>>(tokens),
    useFactory: (...parts: unknown[]) => new type(Object.fromEntries(names.map((name, i) => [name, parts[i]])) as D),
  };
}
