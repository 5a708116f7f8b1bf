import { type JSX } from 'preact';
import { type Overview } from '../api/contract';
import { type Messages } from '../i18n/en';
import { MessagesView } from '../messages/messages-view';
import { NowView } from '../now/now-view';
import { OrderView } from '../order/order-view';
import { OrdersView } from '../orders/orders-view';
import { ParkedView } from '../parked/parked-view';
import { type Poll } from '../poll/use-poll';
import { RefundsView } from '../refunds/refunds-view';
import { type Route } from '../route/route';
import { UnmatchedView } from '../unmatched/unmatched-view';

export function titleOf({ view, id }: Route, t: Messages): string {
  return view === 'order' ? `${t.shell.order} ${id}` : t.shell[view];
}

/** The view of a route. */
export function View({ route, overview }: { route: Route; overview: Poll<Overview> }): JSX.Element {
  switch (route.view) {
    case 'now':
      return <NowView overview={overview} />;
    case 'orders':
      return <OrdersView query={route.query} />;
    case 'order':
      return <OrderView id={route.id} key={route.id} />;
    case 'parked':
      return <ParkedView query={route.query} />;
    case 'unmatched':
      return <UnmatchedView query={route.query} />;
    case 'refunds':
      return <RefundsView query={route.query} />;
    case 'messages':
      return <MessagesView />;
  }
}
