import { type JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { useApp } from '../session/app-context';
import { chartOptions } from './chart-options';
import { type DueMinute } from './due-minute';

interface DueChartProps {
  readonly minutes: readonly DueMinute[];
  readonly label: string;
  readonly formatClock: (ms: number) => string;
  readonly onHover: (minute: DueMinute | undefined) => void;
  readonly onChoose: (minute: DueMinute) => void;
}

/** Bars, one per minute. The canvas is drawn again if the colors or the width change. */
export function DueChart({ minutes, label, formatClock, onHover, onChoose }: DueChartProps): JSX.Element {
  const { theme } = useApp();
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(undefined);
  const latest = useRef({ minutes, onHover, onChoose });
  latest.current = { minutes, onHover, onChoose };

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const minuteAt = (index: number | null | undefined): DueMinute | undefined =>
      typeof index === 'number' ? latest.current.minutes[index] : undefined;
    const draw = (): void => {
      chart.current?.destroy();
      const onCursor = (plot: uPlot): void => latest.current.onHover(minuteAt(plot.cursor.idx));
      const options = chartOptions(element, { formatClock, onCursor });
      chart.current = new uPlot(options, dataOf(latest.current.minutes), element);
    };
    const onClick = (): void => {
      const minute = minuteAt(chart.current?.cursor.idx);
      if (minute) latest.current.onChoose(minute);
    };
    draw();
    const colors = window.matchMedia('(prefers-color-scheme: dark)');
    const size = new ResizeObserver(() => fit(chart.current, element));
    colors.addEventListener('change', draw);
    element.addEventListener('click', onClick);
    size.observe(element);
    return () => {
      colors.removeEventListener('change', draw);
      element.removeEventListener('click', onClick);
      size.disconnect();
      chart.current?.destroy();
    };
  }, [theme, formatClock.name]);

  useEffect(() => chart.current?.setData(dataOf(minutes)), [minutes]);
  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

function fit(chart: uPlot | undefined, element: HTMLElement): void {
  if (chart && element.clientWidth > 0) chart.setSize({ width: element.clientWidth, height: chart.height });
}

function dataOf(minutes: readonly DueMinute[]): uPlot.AlignedData {
  return [minutes.map(({ from }) => from / 1_000), minutes.map(({ count }) => count)];
}
