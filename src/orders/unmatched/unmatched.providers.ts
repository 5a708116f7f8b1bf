import { type Provider } from '@nestjs/common';
import { Outbox } from '../../outbox';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutScheduler } from '../../timeouts';
import { PaymentLookups } from '../lookup/payment-lookups';
import { OrderPolicies } from '../order-policies';
import { OrderStore } from '../sql/order-store';
import { HandleUnmatched } from './handle-unmatched';
import { PaymentWatch } from './payment-watch';
import { NoteUnmatchedMoney } from './note-unmatched-money';
import { RefundPayments } from './refund-payments';
import { RefundRows } from './refund-rows';
import { WatchEndedOrders } from './watch-ended-orders';

/** Providers for late, surplus, and partial payments. */
export const UNMATCHED_PROVIDERS: Provider[] = [
  {
    provide: RefundRows,
    inject: [RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: ({ dataSource, schema }: ResolvedTimeoutsOptions) => new RefundRows(dataSource, schema),
  },
  {
    provide: NoteUnmatchedMoney,
    inject: [OrderStore],
    useFactory: (store: OrderStore) => new NoteUnmatchedMoney(store),
  },
  {
    provide: HandleUnmatched,
    inject: [OrderStore, TimeoutScheduler, OrderPolicies, RefundRows, NoteUnmatchedMoney],
    useFactory: (
      store: OrderStore,
      scheduler: TimeoutScheduler,
      policies: OrderPolicies,
      refunds: RefundRows,
      found: NoteUnmatchedMoney,
    ) => new HandleUnmatched({ store, scheduler, policies, refunds, found }),
  },
  {
    provide: PaymentWatch,
    inject: [TimeoutScheduler, OrderPolicies],
    useFactory: (scheduler: TimeoutScheduler, policies: OrderPolicies) => new PaymentWatch(scheduler, policies),
  },
  {
    provide: WatchEndedOrders,
    inject: [OrderStore, PaymentLookups, OrderPolicies, HandleUnmatched, NoteUnmatchedMoney],
    useFactory: (
      store: OrderStore,
      providers: PaymentLookups,
      policies: OrderPolicies,
      unmatched: HandleUnmatched,
      found: NoteUnmatchedMoney,
    ) => new WatchEndedOrders({ store, providers, policies, unmatched, found }),
  },
  {
    provide: RefundPayments,
    inject: [OrderStore, RefundRows, PaymentLookups, Outbox],
    useFactory: (store: OrderStore, refunds: RefundRows, providers: PaymentLookups, outbox: Outbox) =>
      new RefundPayments({ store, refunds, providers, outbox }),
  },
];
