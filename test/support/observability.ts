import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { REPOSITORY } from './snippets';

/** An alert of observability/alerts.yml. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Target {
  readonly refId: string;
  readonly expr: string;
  /** Name of each series, with `{{label}}`. */
  readonly legendFormat?: string;
}

/** How a panel shows its numbers. */
export interface PanelValues {
  readonly unit?: string;
  readonly mappings?: readonly {
    readonly options: Readonly<Record<string, { readonly text: string; readonly color: string }>>;
  }[];
  readonly thresholds?: { readonly steps: readonly { readonly color: string; readonly value: number | null }[] };
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: { readonly defaults: PanelValues };
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] };
}

const FOLDER = join(REPOSITORY, 'observability');
/** Prometheus's own. */
const BUILT_IN = ['ALERTS'];
const WORDS = ['or', 'and', 'unless', 'on', 'by', 'without', 'offset', 'bool'];

export function readAlertRules(): AlertRule[] {
  const { groups } = parse(readFileSync(join(FOLDER, 'alerts.yml'), 'utf8')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export function readDashboards(): Dashboard[] {
  const folder = join(FOLDER, 'dashboards');
  return readdirSync(folder).map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    return { file, ...(JSON.parse(text) as Omit<Dashboard, 'file'>) };
  });
}

/** The metrics that a PromQL expression names, without those of Prometheus itself. */
export function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on)\s*\([^)]*\)/g, '');
  const names = [...bare.matchAll(/\b([A-Za-z_]\w*)\b(?!\s*\()/g)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !WORDS.includes(name) && !BUILT_IN.includes(name));
}

/** The rows of docs/monitoring.md: the type of each metric, by its name. */
export function documentedMetrics(): Map<string, string> {
  const page = readFileSync(join(REPOSITORY, 'docs/monitoring.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)(?:\{[\w,]+\})?` \| (counter|gauge|histogram) \|/gm)];
  return new Map(rows.map(([, name = '', type = '']) => [name, type]));
}

/** The metric that a series belongs to: a histogram has three. @param types of all metrics, by name */
export function metricOf(series: string, types: ReadonlyMap<string, string>): string {
  const base = series.replace(/_(bucket|sum|count)$/, '');
  return types.get(base) === 'histogram' ? base : series;
}

/** What Grafana makes of a query: its variables chosen, over 15 s instead of the width of a pixel. */
export function withVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '15s').replace(/\$(job|kind)\b/g, '.+');
}
