import { type Provider } from '@nestjs/common';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions, TimeoutScheduler } from '../../timeouts';
import { construct, constructWith } from '../construct';
import { PaymentProviders } from '../../payments';
import { PaymentLookups } from '../lookup/payment-lookups';
import { OrderEventLog } from '../order-event-log';
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
