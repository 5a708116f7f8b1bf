import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentedMetrics, metricOf, metricsIn, type Panel, readDashboards } from '../../support/observability';
import { REPOSITORY } from '../../support/snippets';

const dashboards = readDashboards();
const panels = dashboards.flatMap((dashboard) => dashboard.panels.map((panel) => ({ ...panel, of: dashboard.title })));
const shown = panels.filter(({ type }) => type !== 'row');
const types = documentedMetrics();

function overlap({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

describe('the dashboards', () => {
  it('have a name of their own each', () => {
    expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
    expect(dashboards.map(({ title }) => title).sort()).toEqual(['Order timeouts', 'Order timeouts: processes']);
  });

  it.each(dashboards)('have no panels on top of each other ($file)', (dashboard) => {
    const { panels: all } = dashboard;
    const pairs = all.flatMap((one, index) => all.slice(index + 1).map((other) => [one, other] as const));
    expect(pairs.filter(([one, other]) => overlap(one, other)).map((pair) => pair.map(({ id }) => id))).toEqual([]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.filter(({ gridPos }) => gridPos.x + gridPos.w > 24)).toEqual([]);
  });

  it.each(shown)('say what "$title" means ($of)', ({ description = '', targets = [] }) => {
    expect(description).toMatch(/^[A-Z0-9].+\.$/);
    expect(targets.length).toBeGreaterThan(0);
  });

  it.each(shown)('name only metrics of docs/monitoring.md in "$title" ($of)', ({ targets = [] }) => {
    const names = targets.flatMap(({ expr }) => metricsIn(expr)).map((name) => metricOf(name, types));
    expect(names.filter((name) => !types.has(name))).toEqual([]);
  });

  it('show every metric of the product', () => {
    const named = shown.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsIn(expr)));
    const covered = new Set(named.map((name) => metricOf(name, types)));
    const missing = [...types.keys()].filter((name) => name.startsWith('order_timeout_') && !covered.has(name));
    expect(missing).toEqual([]);
  });

  it('name sections that the runbook has', () => {
    const runbook = readFileSync(join(REPOSITORY, 'docs/runbook.md'), 'utf8');
    const named = shown.flatMap(({ description = '' }) => [...description.matchAll(/section "([^"]+)"/g)]);
    const sections = named.map(([, section = '']) => section);
    expect(sections.length).toBeGreaterThan(5);
    expect(sections.filter((section) => !runbook.includes(`\n## ${section}\n`))).toEqual([]);
  });
});
