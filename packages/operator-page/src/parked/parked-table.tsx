import { type JSX } from 'preact';
import { type ParkedTimeout, type TimeoutRef } from '../api/attention-contract';
import { useApp, useMay } from '../session/app-context';
import { type Choice, choiceColumn } from '../ui/choice-column';
import { column, DataTable } from '../ui/data-table';
import { KindName } from '../ui/kind-name';
import { Count, Instant, OrderLink } from '../ui/values';

interface ParkedTableProps {
  readonly timeouts: readonly ParkedTimeout[];
  readonly choice: Choice;
}

/** One text for a timeout. Neither part contains a line break. */
export function keyOf({ kind, key }: TimeoutRef): string {
  return `${kind}\n${key}`;
}

export function ParkedTable({ timeouts, choice }: ParkedTableProps): JSX.Element {
  const { t } = useApp();
  const mayOperate = useMay('operate');
  const texts = t.attention.parked;
  const boxes = choiceColumn<ParkedTimeout>({ ...choice, rows: timeouts, keyOf, nameOf: ({ key }) => key });
  return (
    <DataTable
      caption={texts.list}
      empty={texts.none}
      rows={timeouts}
      rowKey={keyOf}
      columns={[
        ...(mayOperate ? [boxes] : []),
        column<ParkedTimeout>(texts.kind, ({ kind }) => <KindName kind={kind} />),
        column<ParkedTimeout>(texts.key, (timeout) => <Subject timeout={timeout} />),
        column<ParkedTimeout>(texts.due, ({ dueAt }) => <Instant at={dueAt} />, true),
        column<ParkedTimeout>(texts.failures, ({ attempts }) => <Count value={attempts} />, true),
        column<ParkedTimeout>(texts.lastError, ({ lastError }) => lastError ?? '–'),
      ]}
    />
  );
}

/** The timeouts of orders that have the order id as their key lead to the order. */
function Subject({ timeout: { kind, key } }: { timeout: ParkedTimeout }): JSX.Element {
  const isOrder = kind.startsWith('order.') || kind === 'payment.reconciliation';
  return isOrder && kind !== 'order.reminder' ? <OrderLink id={key} /> : <span class="id">{key}</span>;
}
