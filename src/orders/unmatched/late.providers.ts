import { type Provider } from '@nestjs/common';
import { Outbox } from '../../outbox';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutScheduler } from '../../timeouts';
import { AskProviders } from '../lookup/ask-providers';
import { OrderPolicies } from '../order-policies';
import { ORDER_STORE, type OrderStore } from '../sql/order-store';
import { LatePayments } from './late-payments';
import { LateWatch } from './late-watch';
import { NoteFoundMoney } from './note-found-money';
import { RefundPayments } from './refund-payments';
import { RefundRows } from './refund-rows';
import { WatchEndedOrders } from './watch-ended-orders';

/** Everything about money that comes too late, is too much, or too little. */
export const LATE_PROVIDERS: Provider[] = [
  {
    provide: RefundRows,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new RefundRows(dataSource, schema),
  },
  {
    provide: NoteFoundMoney,
    inject: [ORDER_STORE],
    useFactory: (store: OrderStore) => new NoteFoundMoney(store),
  },
  {
    provide: LatePayments,
    inject: [ORDER_STORE, TimeoutScheduler, OrderPolicies, RefundRows, NoteFoundMoney],
    useFactory: (
      store: OrderStore,
      scheduler: TimeoutScheduler,
      policies: OrderPolicies,
      refunds: RefundRows,
      found: NoteFoundMoney,
    ) => new LatePayments({ store, scheduler, policies, refunds, found }),
  },
  {
    provide: LateWatch,
    inject: [TimeoutScheduler, OrderPolicies],
    useFactory: (scheduler: TimeoutScheduler, policies: OrderPolicies) => new LateWatch(scheduler, policies),
  },
  {
    provide: WatchEndedOrders,
    inject: [ORDER_STORE, AskProviders, OrderPolicies, LatePayments, NoteFoundMoney],
    useFactory: (
      store: OrderStore,
      providers: AskProviders,
      policies: OrderPolicies,
      late: LatePayments,
      found: NoteFoundMoney,
    ) => new WatchEndedOrders({ store, providers, policies, late, found }),
  },
  {
    provide: RefundPayments,
    inject: [ORDER_STORE, RefundRows, AskProviders, Outbox],
    useFactory: (store: OrderStore, refunds: RefundRows, providers: AskProviders, outbox: Outbox) =>
      new RefundPayments({ store, refunds, providers, outbox }),
  },
];
