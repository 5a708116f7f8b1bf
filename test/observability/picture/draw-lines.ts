import { type Panel } from '../../support/observability';
import { label, MARGIN, svg, timeAxis, xOf } from './axes';
import { LINE_COLORS } from './colors';
import { type Canvas } from './canvas';
import { formatValue } from './format-value';
import { legend, LEGEND_HEIGHT } from './legend';
import { type PanelSeries } from './panel-series';
import { scaleFor } from './scale';

/** A line for each series, with a legend. */
export function drawLines(panel: Panel, series: readonly PanelSeries[], { width, height, seconds }: Canvas): string {
  const canvas = { width, height: height - LEGEND_HEIGHT, seconds };
  const scale = scaleFor(series.flatMap(({ samples }) => samples.map(([, value]) => value)));
  const yOf = (value: number): number =>
    canvas.height - MARGIN.bottom - (value / scale.max) * (canvas.height - MARGIN.top - MARGIN.bottom);
  const grid = scale.ticks.map((tick) => {
    const y = yOf(tick);
    const text = formatValue(tick, panel.fieldConfig?.defaults.unit);
    return `<path class="grid" d="M${MARGIN.left} ${y}H${width - MARGIN.right}"/>${label(MARGIN.left - 6, y + 4, text, 'end')}`;
  });
  const lines = series.map(({ samples }, index) => {
    const points = samples.map(([second, value]) => `${xOf(second, canvas).toFixed(1)} ${yOf(value).toFixed(1)}`);
    // A single sample would be a line without length, which is not seen.
    return `<path class="line" stroke="${colorOf(index)}" d="M${points.join('L')}${points.length === 1 ? 'h2' : ''}"/>`;
  });
  return (
    svg(canvas, grid.join('') + timeAxis(canvas) + lines.join('')) +
    legend(series.map(({ name }, index) => ({ text: name, color: colorOf(index) })))
  );
}

function colorOf(index: number): string {
  return LINE_COLORS[index % LINE_COLORS.length] ?? '';
}
