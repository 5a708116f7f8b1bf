import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { column, DataTable } from '../ui/data-table';
import { Count } from '../ui/values';
import { MINUTE_CAP } from '../format/format-count';
import { type DueMinute } from './due-minute';

interface DueTableProps {
  readonly minutes: readonly DueMinute[];
  readonly formatClock: (ms: number) => string;
  readonly hrefOf: (minute: DueMinute) => string;
}

/** The minutes in which orders are due. */
export function DueTable({ minutes, formatClock, hrefOf }: DueTableProps): JSX.Element {
  const { t } = useApp();
  return (
    <DataTable
      caption={t.now.dueTitle}
      empty={t.now.noneDue}
      rows={minutes.filter(({ count }) => count > 0)}
      rowKey={({ from }) => String(from)}
      columns={[
        column<DueMinute>(t.now.minute, (minute) => <a href={hrefOf(minute)}>{formatClock(minute.from)}</a>),
        column<DueMinute>(t.now.ordersDue, ({ count }) => <Count value={count} cap={MINUTE_CAP} />, true),
      ]}
    />
  );
}
