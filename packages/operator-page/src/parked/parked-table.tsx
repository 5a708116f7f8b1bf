import { type JSX } from 'preact';
import { type ParkedTimeout } from '../api/attention-contract';
import { useApp, useMay } from '../session/app-context';
import { column, type Column, DataTable } from '../ui/data-table';
import { KindName } from '../ui/kind-name';
import { Count, Instant, OrderLink } from '../ui/values';
import { keyOf } from './key-of';

interface ParkedTableProps {
  readonly timeouts: readonly ParkedTimeout[];
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

export function ParkedTable({ timeouts, chosen, onChoose }: ParkedTableProps): JSX.Element {
  const { t } = useApp();
  const mayOperate = useMay('operate');
  const texts = t.attention.parked;
  return (
    <DataTable
      caption={texts.list}
      empty={texts.none}
      rows={timeouts}
      rowKey={keyOf}
      columns={[
        ...(mayOperate ? [choiceColumn({ timeouts, chosen, onChoose }, texts)] : []),
        column<ParkedTimeout>(texts.kind, ({ kind }) => <KindName kind={kind} />),
        column<ParkedTimeout>(texts.key, (timeout) => <Subject timeout={timeout} />),
        column<ParkedTimeout>(texts.due, ({ dueAt }) => <Instant at={dueAt} />, true),
        column<ParkedTimeout>(texts.failures, ({ attempts }) => <Count value={attempts} />, true),
        column<ParkedTimeout>(texts.lastError, ({ lastError }) => lastError ?? '–'),
      ]}
    />
  );
}

interface ChoiceTexts {
  readonly chooseAll: string;
  readonly choose: (key: string) => string;
}

function choiceColumn({ timeouts, chosen, onChoose }: ParkedTableProps, texts: ChoiceTexts): Column<ParkedTimeout> {
  const all = timeouts.map(keyOf);
  const toggle = (keys: readonly string[], isOn: boolean): void => {
    const next = new Set(chosen);
    for (const key of keys)
      if (isOn) next.add(key);
      else next.delete(key);
    onChoose(next);
  };
  const box = (label: string, keys: readonly string[]): JSX.Element => (
    <input
      type="checkbox"
      aria-label={label}
      checked={keys.every((key) => chosen.has(key))}
      onChange={(event) => toggle(keys, event.currentTarget.checked)}
    />
  );
  return { title: box(texts.chooseAll, all), cell: (timeout) => box(texts.choose(timeout.key), [keyOf(timeout)]) };
}

/** The timeouts of orders that have the order id as their key lead to the order. */
function Subject({ timeout: { kind, key } }: { timeout: ParkedTimeout }): JSX.Element {
  const isOrder = kind.startsWith('order.') || kind === 'payment.reconciliation';
  return isOrder && kind !== 'order.reminder' ? <OrderLink id={key} /> : <span class="id">{key}</span>;
}
