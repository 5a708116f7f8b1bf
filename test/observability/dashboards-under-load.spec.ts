import { answerOf } from '../support/until';
import { readDashboards, withVariables } from '../support/observability';
import { type EventfulService, openEventfulService } from './eventful-service';
import { untilRecorded } from './until-recorded';

const LIMIT_MS = 60_000;
/** What the incidents leave in the metrics that are 0 in a shop without any. */
const TRACES = [
  'order_timeout_parked',
  'order_timeout_unmatched_payments',
  'order_timeout_untrusted_total{source="answer"}',
  'order_timeout_missed_wake_ups_total',
  'order_timeout_undecodable_total',
  'order_timeout_away_total',
  'order_timeout_overdue_oldest_seconds',
  'order_timeout_undecided_oldest_seconds',
  'order_timeout_paused',
  'order_timeout_provider_breaker == 2',
  'rabbitmq_detailed_queue_messages{queue="order-timeout.v1.parked"}',
  '1 - order_timeout_database_up',
];
/** Alerts that do not wait for minutes. */
const FIRE_AT_ONCE = [
  'OrderTimeoutMessagesParked',
  'OrderTimeoutParked',
  'OrderTimeoutUnmatchedPayments',
  'OrderTimeoutUntrustedMessages',
  'OrderTimeoutWakeUpsMissed',
];

interface Alert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const dashboards = readDashboards();
const queries = dashboards.flatMap(({ title: dashboard, panels }) =>
  panels.flatMap(({ title, targets = [] }) => targets.map(({ refId, expr }) => ({ dashboard, title, refId, expr }))),
);
/** What the 0 of an empty panel would hide. */
const withoutZero = (expression: string): string => withVariables(expression).replace(' or vector(0)', '');

describe('a Prometheus that scrapes a service under load, to which things happen', () => {
  let eventful: EventfulService;
  const recorded = (expression: string): Promise<void> => untilRecorded(eventful.stage.prometheus, expression);

  beforeAll(async () => {
    eventful = await openEventfulService();
  });

  afterAll(() => eventful.close());

  it('closes and pays orders all the while', async () => {
    await recorded('rate(order_timeout_settled_total{kind="order.payment", outcome="done"}[15s]) > 1');
    expect(eventful.load.answers.get(201)).toBeGreaterThan(30);
  });

  it.each(TRACES)('records the incident in %s', async (metric) => {
    await recorded(`${metric} > 0`);
  });

  it.each(queries)('has data for "$title" $refId ($dashboard)', async ({ expr }) => {
    await recorded(withoutZero(expr));
  });

  it('has values for the variables of the dashboards', async () => {
    const all = dashboards.flatMap(({ templating }) => templating.list).filter(({ query }) => query !== 'prometheus');
    expect(all.length).toBe(3);
    for (const { name, query } of all) {
      const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
      expect(label).toBe(name);
      await untilRecorded(eventful.stage.prometheus, withVariables(selector), (found) =>
        found.some(({ metric }) => metric[label] !== undefined),
      );
    }
  });

  it('fires the alerts of what has happened, with a link to the runbook', async () => {
    const firing = await answerOf('the alerts', LIMIT_MS, undefined, async () => {
      const { alerts } = (await eventful.stage.prometheus.ask('alerts')) as { alerts: Alert[] };
      const found = alerts.filter(({ state }) => state === 'firing');
      const names = found.map(({ labels }) => labels['alertname']);
      return FIRE_AT_ONCE.every((name) => names.includes(name)) ? found : undefined;
    });
    const links = firing.map(({ annotations }) => annotations['runbook_url']);
    expect(links).toContain('docs/runbook.md#a-timeout-is-parked');
    expect(firing.map(({ annotations }) => annotations['summary'])).toContain(
      'Timeouts of order.payment wait for a person: 1',
    );
  });
});
