import uPlot from 'uplot';

interface ChartBehavior {
  readonly formatClock: (ms: number) => string;
  readonly onCursor: (plot: uPlot) => void;
}

const HEIGHT = 176;
const BAR_SHARE = 0.72;
const LEAST_TOP = 5;

/** How the chart of the next hour looks; colors and font are those of the page at this moment. */
export function chartOptions(element: HTMLElement, { formatClock, onCursor }: ChartBehavior): uPlot.Options {
  const color = (name: string): string => colorOf(element, name);
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, 40], align: 1 });
  const axis = { stroke: color('--muted'), font, ticks: { show: false } };
  return {
    width: Math.max(element.clientWidth, 200),
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(LEAST_TOP, max * 1.1)] } },
    series: [
      {},
      {
        stroke: color('--accent'),
        fill: color('--accent'),
        points: { show: false },
        ...(bars ? { paths: bars } : {}),
      },
    ],
    axes: [
      {
        ...axis,
        size: 24,
        grid: { show: false },
        values: (_plot, at) => at.map((seconds) => formatClock(seconds * 1_000)),
      },
      {
        ...axis,
        size: 44,
        grid: { stroke: color('--line'), width: 1 },
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
      },
    ],
    hooks: { setCursor: [onCursor] },
  };
}

/** A canvas knows no custom properties, so the browser must say what color one is. */
function colorOf(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
