import { type Panel } from '../../support/observability';
import { MARGIN, svg, timeAxis, xOf } from './axes';
import { colorNamed } from './colors';
import { type Canvas } from './canvas';
import { legend, LEGEND_HEIGHT } from './legend';
import { type PanelSeries, type Sample } from './panel-series';

/** Space for a name above its bar, and the most for a bar, in pixels. */
const NAME_HEIGHT = 14;
const MAX_BAR_HEIGHT = 44;

/** A bar for each series, colored by its state. */
export function drawStates({ fieldConfig }: Panel, series: readonly PanelSeries[], canvas: Canvas): string {
  const states = fieldConfig?.defaults.mappings?.[0]?.options ?? {};
  const chart = { ...canvas, height: canvas.height - LEGEND_HEIGHT };
  const space = (chart.height - MARGIN.top - MARGIN.bottom) / series.length - NAME_HEIGHT - 4;
  const barHeight = Math.min(MAX_BAR_HEIGHT, space);
  const rows = series.map(({ name, samples }, index) => {
    const y = MARGIN.top + index * (barHeight + NAME_HEIGHT + 4);
    const bars = runsOf(samples, canvas.seconds).map(({ from, to, value }) => {
      const width = Math.max(1, xOf(to, canvas) - xOf(from, canvas));
      const box = `x="${xOf(from, canvas)}" y="${y + NAME_HEIGHT}" width="${width}" height="${barHeight}"`;
      return `<rect ${box} fill="${colorNamed(states[String(value)]?.color)}"/>`;
    });
    return `<text x="${MARGIN.left}" y="${y + NAME_HEIGHT - 4}">${name}</text>${bars.join('')}`;
  });
  const meanings = Object.values(states).map(({ text, color }) => ({ text, color: colorNamed(color) }));
  return svg(chart, rows.join('') + timeAxis(chart)) + legend(meanings);
}

interface Run {
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/** Neighbors of one value are one bar. */
function runsOf(samples: readonly Sample[], seconds: number): Run[] {
  const starts = samples.filter(([, value], index) => value !== samples[index - 1]?.[1]);
  return starts.map(([from, value], index) => ({ from, to: starts[index + 1]?.[0] ?? seconds, value }));
}
