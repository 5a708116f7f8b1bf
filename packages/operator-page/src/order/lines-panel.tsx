import { type JSX } from 'preact';
import { type OrderDetails, type OrderLine } from '../api/order-contract';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { Badge } from '../ui/badge';
import { column, DataTable } from '../ui/data-table';
import { Panel } from '../ui/panel';
import { Count, Money } from '../ui/values';

/** The lines with the stock that they hold. */
export function LinesPanel({ order }: { order: OrderDetails }): JSX.Element {
  const { t } = useApp();
  const stockOf = (sku: string): JSX.Element | string => {
    const held = order.stock.find((one) => one.sku === sku);
    if (!held) return '–';
    return (
      <Badge tone={held.state === 'RESERVED' ? 'info' : 'muted'}>{nameOf(t.domain.stockStates, held.state)}</Badge>
    );
  };
  return (
    <Panel title={t.order.lines}>
      <DataTable
        caption={t.order.lines}
        empty={t.order.noLines}
        rows={order.lines}
        rowKey={({ sku }) => sku}
        columns={[
          column<OrderLine>(t.order.sku, ({ sku }) => <span class="id">{sku}</span>),
          column<OrderLine>(t.order.quantity, ({ quantity }) => <Count value={quantity} />, true),
          column<OrderLine>(
            t.order.unitAmount,
            (line) => <Money amount={line.unitAmount} currency={order.currency} />,
            true,
          ),
          column<OrderLine>(t.order.stock, ({ sku }) => stockOf(sku)),
        ]}
      />
    </Panel>
  );
}
