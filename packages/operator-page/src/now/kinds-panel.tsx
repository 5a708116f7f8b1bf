import { type JSX } from 'preact';
import { type KindState } from '../api/contract';
import { formatDuration } from '../format/format-time';
import { formatRoute } from '../route/route';
import { useApp, useMay } from '../session/app-context';
import { column, DataTable } from '../ui/data-table';
import { KindName } from '../ui/kind-name';
import { Panel } from '../ui/panel';
import { RunState } from '../ui/run-state';
import { Count } from '../ui/values';
import { KindSwitch } from './kind-switch';

interface KindsPanelProps {
  readonly kinds: readonly KindState[];
  readonly onChange: () => void;
}

/** The kinds of timeouts, which an operator may pause. */
export function KindsPanel({ kinds, onChange }: KindsPanelProps): JSX.Element {
  const { t, locale } = useApp();
  const mayOperate = useMay('operate');
  const age = (seconds: number | null): string => (seconds === null ? '–' : formatDuration(seconds * 1_000, locale));
  const canPause = kinds.some(({ paused }) => paused !== undefined);
  const runState = column<KindState>(t.now.state, ({ paused, pause }) => <RunState isPaused={paused} pause={pause} />);
  const actions = {
    title: <span class="sr-only">{t.order.actions}</span>,
    cell: (row: KindState) => <KindSwitch kind={row} onChange={onChange} />,
  };
  return (
    <Panel title={t.now.kindsTitle}>
      <DataTable
        caption={t.now.kindsTitle}
        empty={t.order.noTimeouts}
        rows={kinds}
        rowKey={({ kind }) => kind}
        columns={[
          column<KindState>(t.now.kind, ({ kind }) => <KindName kind={kind} />),
          column<KindState>(t.now.parkedCount, (row) => <ParkedLink of={row} />, true),
          column<KindState>(t.now.oldestOverdue, (row) => age(row.overdueOldestSeconds), true),
          ...(canPause ? [runState] : []),
          ...(canPause && mayOperate ? [actions] : []),
        ]}
      />
    </Panel>
  );
}

function ParkedLink({ of: { kind, parked } }: { of: KindState }): JSX.Element {
  if (parked === null) return <>–</>;
  const count = <Count value={parked} />;
  return parked === 0 ? count : <a href={formatRoute('parked', { kind })}>{count}</a>;
}
