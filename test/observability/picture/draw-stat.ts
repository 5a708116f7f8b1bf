import { type Panel, type PanelValues } from '../../support/observability';
import { colorNamed } from './colors';
import { formatValue } from './format-value';
import { type PanelSeries } from './panel-series';

/** The newest number, in the color of its threshold or state. Without either, the name of the series. */
export function drawStat({ fieldConfig }: Panel, [first, ...others]: readonly PanelSeries[]): string {
  const shown = fieldConfig?.defaults ?? {};
  const value = first?.samples.at(-1)?.[1] ?? NaN;
  const state = shown.mappings?.[0]?.options[String(value)];
  if (state) return tile(state.text, state.color);
  if (shown.thresholds) return tile(formatValue(value, shown.unit), colorAbove(value, shown.thresholds.steps));
  const names = [first, ...others].flatMap((one) => (one?.samples.at(-1)?.[1] === 1 ? [one.name] : []));
  return tile(names.join(', '), '');
}

function tile(text: string, color: string): string {
  return color
    ? `<div class="stat" style="background:${colorNamed(color)}">${text}</div>`
    : `<div class="name">${text}</div>`;
}

function colorAbove(value: number, steps: NonNullable<PanelValues['thresholds']>['steps']): string {
  return steps.findLast((step) => step.value === null || value >= step.value)?.color ?? '';
}
