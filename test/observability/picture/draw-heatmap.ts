import { type Panel } from '../../support/observability';
import { label, MARGIN, svg, timeAxis, xOf } from './axes';
import { type Canvas } from './canvas';
import { formatValue } from './format-value';
import { type PanelSeries, type Sample } from './panel-series';

/** A row for each bucket of a histogram, darker where more was counted. */
export function drawHeatmap(_: Panel, series: readonly PanelSeries[], canvas: Canvas): string {
  const buckets = [...series]
    .sort((a, b) => a.le - b.le)
    .map((bucket, index, all) => withoutLower(bucket, all[index - 1]));
  const most = Math.max(...buckets.flatMap(({ samples }) => samples.map(([, value]) => value)), 1);
  const height = (canvas.height - MARGIN.top - MARGIN.bottom) / buckets.length;
  const width = xOf(1, canvas) - xOf(0, canvas);
  const rows = buckets.map(({ le, samples }, index) => {
    const y = canvas.height - MARGIN.bottom - (index + 1) * height;
    const cells = samples.map(([second, value]) => {
      const box = `x="${xOf(second, canvas)}" y="${y}" width="${width}" height="${height - 1}"`;
      return value > 0 ? `<rect ${box} fill="#c4631b" fill-opacity="${0.15 + (0.85 * value) / most}"/>` : '';
    });
    const name = Number.isFinite(le) ? formatValue(le, 's') : 'more';
    return cells.join('') + (index % 2 === 0 ? label(MARGIN.left - 6, y + height - 2, name, 'end') : '');
  });
  return svg(canvas, rows.join('') + timeAxis(canvas));
}

/** Buckets of Prometheus contain all lower ones. */
function withoutLower({ le, samples }: PanelSeries, lower?: PanelSeries): { le: number; samples: readonly Sample[] } {
  const below = new Map(lower?.samples);
  return { le, samples: samples.map(([second, value]) => [second, value - (below.get(second) ?? 0)]) };
}
