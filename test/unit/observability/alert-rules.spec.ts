import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { documentedMetrics, metricOf, metricsIn, readAlertRules } from '../../support/observability';
import { REPOSITORY } from '../../support/snippets';

interface RuleTest {
  readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts: readonly unknown[] }[];
}

const read = (file: string): string => readFileSync(join(REPOSITORY, file), 'utf8');
const promtool = process.env.OT_PROMTOOL ?? 'promtool';
const hasPromtool = spawnSync(promtool, ['--version']).status === 0;
const rules = readAlertRules();
const runbook = read('docs/runbook.md');
/** As a page of Markdown is linked to. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
const anchors = [...runbook.matchAll(/^#{2,3} (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
/** The section of each alert, by the table of the runbook. */
const documented = new Map(
  [...runbook.matchAll(/^\| `(OrderTimeout\w+)` \| .+? \| \[[^\]]+\]\(#([\w-]+)\)/gm)].map(([, alert, anchor]) => [
    alert ?? '',
    anchor,
  ]),
);

describe('observability/alerts.yml', () => {
  it('has the alerts that the table of the runbook lists, in its order', () => {
    expect(rules.map(({ alert }) => alert)).toEqual([...documented.keys()]);
    expect(rules.length).toBeGreaterThan(10);
  });

  it.each(rules)('links $alert to its section of the runbook', ({ alert, annotations, labels }) => {
    const [address, anchor = ''] = annotations['runbook_url']?.split('#') ?? [];
    expect(address).toBe('{{ or $externalLabels.runbook "docs/runbook.md" }}');
    expect(anchor).toBe(documented.get(alert));
    expect(anchors).toContain(anchor);
    expect(annotations['summary']).toMatch(/^[A-Z{].+[^.]$/);
    expect(['critical', 'warning']).toContain(labels['severity']);
  });

  it.each(rules)('names only metrics of docs/monitoring.md in $alert', ({ expr }) => {
    const types = documentedMetrics();
    const names = metricsIn(expr).map((name) => metricOf(name, types));
    expect(names).not.toEqual([]);
    expect(names.filter((name) => !types.has(name))).toEqual([]);
  });

  it.each(rules)('has a test in which $alert fires, and one in which it stays silent', ({ alert }) => {
    const { tests } = parse(read('observability/alerts.test.yml')) as { tests: RuleTest[] };
    const cases = tests.flatMap((one) => one.alert_rule_test).filter(({ alertname }) => alertname === alert);
    expect(cases.some(({ exp_alerts: alerts }) => alerts.length > 0)).toBe(true);
    expect(cases.some(({ exp_alerts: alerts }) => alerts.length === 0)).toBe(true);
  });
});

// npm run suite -- observability has promtool always.
(hasPromtool ? describe : describe.skip)('promtool', () => {
  const run = (...args: string[]): string => execFileSync(promtool, args, { cwd: REPOSITORY, encoding: 'utf8' });

  it('finds no fault in the rules', () => {
    expect(run('check', 'rules', 'observability/alerts.yml')).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it('finds no fault in the configuration of Docker Compose', () => {
    expect(run('check', 'config', 'observability/prometheus.yml')).toContain('1 rule files found');
  });

  it('passes the tests of the rules', () => {
    expect(run('test', 'rules', 'observability/alerts.test.yml')).toContain('SUCCESS');
  });
});
