import { type JSX } from 'preact';
import { type Lateness } from '../api/contract';
import { formatDuration } from '../format/format-time';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { column, DataTable } from '../ui/data-table';
import { Panel } from '../ui/panel';
import { Count } from '../ui/values';

/** How late timeouts are handled, by what woke the service. */
export function LatenessPanel({ lateness }: { lateness: readonly Lateness[] }): JSX.Element {
  const { t, locale } = useApp();
  const duration = (ms: number | null): string => (ms === null ? '–' : formatDuration(ms, locale));
  return (
    <Panel title={t.now.latenessTitle}>
      <DataTable
        caption={t.now.latenessTitle}
        empty={t.now.noLateness}
        rows={lateness}
        rowKey={({ clock }) => clock}
        columns={[
          column<Lateness>(t.now.clock, ({ clock }) => nameOf(t.now.clocks, clock)),
          column<Lateness>(t.now.timeouts, ({ count }) => <Count value={count} />, true),
          column<Lateness>(t.now.median, ({ p50Ms }) => <span class="number">{duration(p50Ms)}</span>, true),
          column<Lateness>(t.now.p99, ({ p99Ms }) => <span class="number">{duration(p99Ms)}</span>, true),
        ]}
      />
    </Panel>
  );
}
