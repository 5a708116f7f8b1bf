import { documentedMetrics, metricOf, metricsIn, readAlertRules, readDashboards } from '../support/observability';
import { openService, type RunningService } from './running-service';

/** What the broker reports, and not the service. */
const isOfBroker = (name: string): boolean => name.startsWith('rabbitmq_');

describe('the metrics of a running service', () => {
  let service: RunningService;
  let served: Map<string, string>;

  beforeAll(async () => {
    service = await openService();
    const { text } = await service.call('get', '/metrics', undefined, null);
    const lines = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
    served = new Map(lines.map(([, name = '', type = '']) => [name, type]));
  });

  afterAll(() => service.close());

  it('are those of docs/monitoring.md, with their types', () => {
    const documented = [...documentedMetrics()].filter(([name]) => !isOfBroker(name));
    expect(Object.fromEntries(documented.map(([name]) => [name, served.get(name)]))).toEqual(
      Object.fromEntries(documented),
    );
    const own = [...served.keys()].filter((name) => name.startsWith('order_timeout_'));
    expect(own.filter((name) => !documentedMetrics().has(name))).toEqual([]);
  });

  it('have all that the alerts and the panels name', () => {
    const panels = readDashboards().flatMap((dashboard) => dashboard.panels);
    const expressions = [...readAlertRules(), ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr);
    const names = new Set(expressions.flatMap(metricsIn).map((name) => metricOf(name, served)));
    expect(names.size).toBeGreaterThan(20);
    expect([...names].filter((name) => !isOfBroker(name) && !served.has(name))).toEqual([]);
  });
});
