import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Overview } from '../api/contract';
import { formatAtLeast, formatCount, MINUTE_CAP } from '../format/format-count';
import { formatRoute } from '../route/route';
import { goTo } from '../route/use-route';
import { useApp } from '../session/app-context';
import { Panel } from '../ui/panel';
import { DueChart } from './due-chart';
import { type DueMinute } from './due-minute';
import { DueTable } from './due-table';

const MINUTE_MS = 60_000;

/** When orders are due in the next hour: as a chart, and as a table for who cannot see it. */
export function DuePanel({ overview }: { overview: Overview }): JSX.Element {
  const { t, locale } = useApp();
  const [hovered, hover] = useState<DueMinute>();
  const minutes = minutesOf(overview);
  const sum = minutes.reduce((all, { count }) => all + count, 0);
  const isPartial = minutes.some(({ count }) => count === MINUTE_CAP);
  const total = isPartial ? formatAtLeast(sum, locale) : new Intl.NumberFormat(locale).format(sum);
  const clock = (ms: number): string =>
    new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(ms);
  const note = hovered
    ? `${clock(hovered.from)} · ${formatCount(hovered.count, locale, MINUTE_CAP)}`
    : t.now.dueTotal(total);
  return (
    <Panel title={t.now.dueTitle} aside={<span class="number muted">{note}</span>}>
      <DueChart
        minutes={minutes}
        label={`${t.now.dueTitle}. ${t.now.dueTotal(total)}`}
        formatClock={clock}
        onHover={hover}
        onChoose={({ query }) => goTo('orders', query)}
      />
      <details class="chart-table">
        <summary>{t.now.asTable}</summary>
        <DueTable minutes={minutes} formatClock={clock} hrefOf={({ query }) => formatRoute('orders', query)} />
      </details>
    </Panel>
  );
}

function minutesOf({ now, due }: Overview): DueMinute[] {
  const start = Date.parse(now);
  const instant = (ms: number): string => new Date(ms).toISOString();
  return (due?.nextHour ?? []).map((count, index) => {
    const from = start + index * MINUTE_MS;
    return {
      from,
      count,
      query: { status: 'PENDING', expiresFrom: instant(from), expiresTo: instant(from + MINUTE_MS) },
    };
  });
}
