import { type Provider, type Type } from '@nestjs/common';
import { CLOCK, type Clock } from '../../clock';
import { Inventory } from '../../inventory';
import { ListOrders, NoteOnOrders, Orders, ReadDossier, SummarizeOrders, UnmatchedPayments } from '../../orders';
import { Outbox, ParkedRows } from '../../outbox';
import { PaymentProviders } from '../../payments';
import { RabbitClient } from '../../rabbit';
import {
  ParkedTimeouts,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
  TimeoutObservers,
  TimeoutSummary,
} from '../../timeouts';
import { BrokerMessages, ParkedWork } from './parked-work';
import { Lateness, ReadOverview } from './overview';
import { ListRefunds, ReadOrderPage, SearchOrders } from './order-page';
import {
  OperatorFiles,
  OperatorPageController,
  OverviewController,
  SessionController,
} from './operator-page.controller';
import { OperatorKeys } from '../http';
import { OperatorOrdersController, RefundsController } from './operator-orders.controller';
import {
  OperatorControlsController,
  OperatorMessagesController,
  OperatorTimeoutsController,
} from './operator-timeouts.controller';
import { PageBulkActionsController, PageOrderActionsController, PageUnmatchedPaymentsController } from './page-actions';

/** Without keys nobody can look, so nothing is kept. */
function observeLateness(observers: TimeoutObservers, keys: OperatorKeys): Lateness {
  const lateness = new Lateness();
  if (!keys.isEmpty) observers.add(lateness);
  return lateness;
}

/** What the controllers of the operator page need. They also need OperatorKeys, RateLimits, and ORDER_PROVIDERS. */
export const OPERATOR_PAGE_PROVIDERS: Provider[] = [
  { provide: OperatorFiles, useFactory: () => new OperatorFiles() },
  { provide: Lateness, inject: [TimeoutObservers, OperatorKeys], useFactory: observeLateness },
  {
    provide: BrokerMessages,
    inject: [RabbitClient, CLOCK],
    useFactory: (client: RabbitClient, clock: Clock) => new BrokerMessages(client, clock),
  },
  {
    provide: SearchOrders,
    inject: [Orders, ListOrders],
    useFactory: (orders: Orders, listing: ListOrders) => new SearchOrders(orders, listing),
  },
  {
    provide: ReadOrderPage,
    inject: [Orders, ReadDossier, TimeoutSummary, Inventory, RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: (
      orders: Orders,
      dossiers: ReadDossier,
      timeouts: TimeoutSummary,
      inventory: Inventory,
      options: ResolvedTimeoutsOptions,
    ) => new ReadOrderPage({ orders, dossiers, timeouts, inventory, options }),
  },
  {
    provide: ListRefunds,
    inject: [ReadDossier, TimeoutSummary, RESOLVED_TIMEOUTS_OPTIONS],
    useFactory: (dossiers: ReadDossier, timeouts: TimeoutSummary, options: ResolvedTimeoutsOptions) =>
      new ListRefunds({ dossiers, timeouts, options }),
  },
  {
    provide: ParkedWork,
    inject: [RESOLVED_TIMEOUTS_OPTIONS, ParkedTimeouts, NoteOnOrders, BrokerMessages],
    useFactory: (
      { dataSource, schema }: ResolvedTimeoutsOptions,
      timeouts: ParkedTimeouts,
      notes: NoteOnOrders,
      messages: BrokerMessages,
    ) => new ParkedWork({ schema, timeouts, notes, messages, rows: new ParkedRows(dataSource, schema) }),
  },
  {
    provide: ReadOverview,
    inject: [
      ...[RESOLVED_TIMEOUTS_OPTIONS, TimeoutEngine, RabbitClient, Outbox, TimeoutSummary, SummarizeOrders],
      ...[UnmatchedPayments, PaymentProviders, BrokerMessages, Lateness, CLOCK],
    ],
    useFactory: (
      options: ResolvedTimeoutsOptions,
      engine: TimeoutEngine,
      client: RabbitClient,
      outbox: Outbox,
      timeouts: TimeoutSummary,
      orders: SummarizeOrders,
      unmatched: UnmatchedPayments,
      providers: PaymentProviders,
      messages: BrokerMessages,
      lateness: Lateness,
      clock: Clock,
    ) =>
      new ReadOverview({
        ...{ options, engine, client, outbox, timeouts, orders, unmatched },
        ...{ providers, messages, lateness, clock },
      }),
  },
];

/** The controllers of the operator page. */
export const OPERATOR_CONTROLLERS: Type[] = [
  SessionController,
  OverviewController,
  OperatorOrdersController,
  RefundsController,
  PageOrderActionsController,
  PageBulkActionsController,
  PageUnmatchedPaymentsController,
  OperatorTimeoutsController,
  OperatorMessagesController,
  OperatorControlsController,
  OperatorPageController,
];
