import { type Prometheus } from '../../support/servers/prometheus';
import { type Dashboard, type Panel } from '../../support/observability';
import { drawPanel } from './draw-panel';
import { readPanelSeries } from './panel-series';

/** What to draw. */
export interface Recording {
  readonly prometheus: Prometheus;
  /** When it began, in epoch milliseconds. */
  readonly fromMs: number;
  readonly seconds: number;
}

/** Width of a picture, in pixels. */
export const WIDTH = 1_280;
/** A row of Grafana's grid, in pixels, and the space between panels. */
const ROW = 30;
const GAP = 8;
const COLUMNS = 24;
const TITLE = 34;

const STYLE = `
  * { box-sizing: border-box; margin: 0 }
  body { width: ${WIDTH}px; padding: ${GAP}px; background: #eef0f3; color: #24292f; font: 12px "Liberation Sans", sans-serif }
  main { display: grid; grid-template-columns: repeat(${COLUMNS}, 1fr); grid-auto-rows: ${ROW}px; gap: ${GAP}px }
  section { background: #fff; border: 1px solid #d9dde3; border-radius: 3px; padding: 6px 8px; overflow: hidden }
  h1 { font-size: 18px; padding: 2px 0 10px } h2 { font-size: 15px; align-self: end } h3 { font-size: 12px; height: 22px; white-space: nowrap; letter-spacing: -0.4px }
  .stat, .name { height: calc(100% - 24px); display: grid; place-items: center; font-size: 26px; border-radius: 3px }
  .stat { color: #fff } .name { font-size: 18px }
  .legend { display: flex; gap: 12px; height: 20px; overflow: hidden; white-space: nowrap; padding-left: 8px }
  .legend i { display: inline-block; width: 12px; height: 3px; margin-right: 5px; vertical-align: middle }
  svg { display: block } text { font: 11px "Liberation Sans", sans-serif; fill: #57606a }
  .grid { stroke: #e6e9ed } .line { fill: none; stroke-width: 1.5 }`;

/** HTML of a dashboard, as Grafana lays it out. */
export async function drawDashboard({ title, panels }: Dashboard, recording: Recording): Promise<string> {
  const sections = await Promise.all(panels.map((panel) => drawSection(panel, recording)));
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><h1>${title}</h1><main>${sections.join('')}</main>`;
}

async function drawSection(panel: Panel, recording: Recording): Promise<string> {
  const { x, y, w, h } = panel.gridPos;
  const place = `style="grid-area:${y + 1}/${x + 1}/span ${h}/span ${w}"`;
  if (panel.type === 'row') return `<h2 ${place}>${panel.title}</h2>`;
  const width = (w / COLUMNS) * (WIDTH - GAP) - GAP - 18;
  const height = h * (ROW + GAP) - GAP - TITLE;
  const series = await readPanelSeries(panel, recording);
  const drawing = drawPanel(panel, series, { width, height, seconds: recording.seconds });
  return `<section ${place}><h3>${panel.title}</h3>${drawing}</section>`;
}
