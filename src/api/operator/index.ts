import { type Provider, type Type } from '@nestjs/common';
import { TimeoutObservers } from '../../timeouts';
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
  BrokerMessages,
  ListRefunds,
  ParkedWork,
  ReadOrderPage,
  ReadOverview,
  SearchOrders,
];

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
