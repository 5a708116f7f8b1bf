import { type JSX } from 'preact';
import { type OrderSummary } from '../api/contract';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { StatusBadge } from '../ui/badge';
import { column, DataTable } from '../ui/data-table';
import { Instant, Money, OrderLink, Relative } from '../ui/values';

interface OrdersTableProps {
  readonly orders: readonly OrderSummary[];
  readonly empty: string;
}

export function OrdersTable({ orders, empty }: OrdersTableProps): JSX.Element {
  const { t } = useApp();
  return (
    <DataTable
      caption={t.shell.orders}
      empty={empty}
      rows={orders}
      rowKey={({ id }) => id}
      columns={[
        column<OrderSummary>(t.orders.id, ({ id }) => <OrderLink id={id} />),
        column<OrderSummary>(t.orders.status, ({ status }) => <StatusBadge status={status} />),
        column<OrderSummary>(t.orders.merchant, ({ merchantId }) => (
          <a class="quiet" href={formatRoute('orders', { merchantId })}>
            {merchantId}
          </a>
        )),
        column<OrderSummary>(
          t.orders.amount,
          (order) => <Money amount={order.amount} currency={order.currency} />,
          true,
        ),
        column<OrderSummary>(t.orders.deadline, ({ expiresAt }) => <Relative at={expiresAt} />, true),
        column<OrderSummary>(t.orders.placed, ({ createdAt }) => <Instant at={createdAt} />, true),
      ]}
    />
  );
}
