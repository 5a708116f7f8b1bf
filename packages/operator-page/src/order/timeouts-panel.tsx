import { type JSX } from 'preact';
import { type OrderTimeout } from '../api/order-contract';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { Badge } from '../ui/badge';
import { column, DataTable } from '../ui/data-table';
import { KindName } from '../ui/kind-name';
import { Panel } from '../ui/panel';
import { Count, Relative } from '../ui/values';

/** What is scheduled for the order. */
export function TimeoutsPanel({ timeouts }: { timeouts: readonly OrderTimeout[] }): JSX.Element {
  const { t } = useApp();
  return (
    <Panel title={t.order.timeouts}>
      <DataTable
        caption={t.order.timeouts}
        empty={t.order.noTimeouts}
        rows={timeouts}
        rowKey={({ kind, dueAt }) => `${kind} ${dueAt}`}
        columns={[
          column<OrderTimeout>(t.order.kind, ({ kind }) => <KindName kind={kind} />),
          column<OrderTimeout>(t.order.status, ({ state }) => (
            <Badge tone={state === 'parked' ? 'bad' : 'muted'}>{nameOf(t.domain.timeoutStates, state)}</Badge>
          )),
          column<OrderTimeout>(t.order.due, ({ dueAt }) => <Relative at={dueAt} />, true),
          column<OrderTimeout>(t.order.tries, ({ attempts }) => <Count value={attempts} />, true),
          column<OrderTimeout>(t.order.lastError, ({ lastError }) => lastError ?? '–'),
        ]}
      />
    </Panel>
  );
}
