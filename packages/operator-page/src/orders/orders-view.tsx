import { type JSX } from 'preact';
import { type OrderList } from '../api/contract';
import { formatCount } from '../format/format-count';
import { usePoll } from '../poll/use-poll';
import { formatRoute } from '../route/route';
import { useApp, useMay } from '../session/app-context';
import { Loaded } from '../ui/loaded';
import { Pager } from '../ui/pager';
import { Panel } from '../ui/panel';
import { BulkBar } from './bulk-bar';
import { FilterForm } from './filter-form';
import { readFilter } from './order-filter';
import { OrdersTable } from './orders-table';

const INTERVAL_MS = 10_000;
const PAGE_SIZE = 50;

/** Orders by a filter, which is in the address. */
export function OrdersView({ query }: { query: URLSearchParams }): JSX.Element {
  const { api, t, locale } = useApp();
  const mayOperate = useMay('operate');
  const filter = readFilter(query);
  const cursor = query.get('cursor') ?? undefined;
  const poll = usePoll(
    (signal) => api.get<OrderList>('orders', { ...filter, cursor, limit: PAGE_SIZE }, signal),
    INTERVAL_MS,
    [query.toString()],
  );
  const first =
    cursor === undefined ? undefined : { label: t.orders.first, href: formatRoute('orders', { ...filter }) };
  return (
    <>
      <FilterForm key={query.toString()} filter={filter} />
      <Loaded poll={poll}>
        {({ orders, next }) => (
          <Panel
            title={t.shell.orders}
            aside={<span class="muted number">{t.orders.found(formatCount(orders.length, locale))}</span>}
          >
            {mayOperate && <BulkBar filter={filter} onDone={poll.refresh} />}
            <OrdersTable orders={orders} empty={next === null ? t.orders.none : t.orders.noneYet} />
            <Pager
              first={first}
              next={
                next === null
                  ? undefined
                  : { label: t.orders.next, href: formatRoute('orders', { ...filter, cursor: next }) }
              }
            />
          </Panel>
        )}
      </Loaded>
    </>
  );
}
