import { type Panel } from '../../support/observability';
import { type Canvas } from './canvas';
import { drawHeatmap } from './draw-heatmap';
import { drawLines } from './draw-lines';
import { drawStat } from './draw-stat';
import { drawStates } from './draw-states';
import { type PanelSeries } from './panel-series';

const DRAWINGS: Readonly<Record<string, (panel: Panel, series: readonly PanelSeries[], canvas: Canvas) => string>> = {
  stat: drawStat,
  timeseries: drawLines,
  'state-timeline': drawStates,
  heatmap: drawHeatmap,
};

/** HTML of a panel. @throws Error if there is nothing to show, or a type of panel that this cannot draw */
export function drawPanel(panel: Panel, series: readonly PanelSeries[], canvas: Canvas): string {
  const draw = DRAWINGS[panel.type];
  if (!draw) throw new Error(`panel "${panel.title}" has the type ${panel.type}: add a drawing for it`);
  if (series.length === 0) throw new Error(`panel "${panel.title}" is empty: its query has found nothing`);
  return draw(panel, series, canvas);
}
