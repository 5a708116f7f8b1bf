import { answerOf } from '../support/until';
import { readAlertRules, readDashboards } from '../support/observability';
import { containers, removeAll, runDocumented, urlOf } from './compose-project';
import { unconfined } from './confinement';
import { ShopClient } from './shop-client';

const hasGrafana = !(process.env.OT_MISSING_IMAGES ?? '').includes('grafana/');
const UP =
  'docker compose --profile plain --profile observability up --detach --wait rabbitmq-plain postgres service-plain prometheus';

interface Target {
  readonly labels: { readonly job: string };
  readonly health: string;
  readonly lastError: string;
}

interface EvaluatedRule {
  readonly name: string;
  readonly health: string;
  readonly state: string;
}

describe('the profile observability', () => {
  beforeAll(() => runDocumented(UP));
  afterAll(removeAll);

  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`${await urlOf('prometheus', 9090)}${path}`);
    return ((await response.json()) as { data: unknown }).data;
  };

  it('scrapes the service and the broker that run, and nothing else', async () => {
    const jobs = await answerOf('healthy targets', 60_000, undefined, async () => {
      const { activeTargets } = (await ask('/api/v1/targets')) as { activeTargets: Target[] };
      const isDone = activeTargets.length === 4 && activeTargets.every(({ health }) => health === 'up');
      return isDone ? activeTargets.map(({ labels }) => labels.job).sort() : undefined;
    });
    expect(jobs).toEqual(['order-timeout', 'prometheus', 'rabbitmq', 'rabbitmq-queues']);
  });

  it('evaluates every alert rule, and none fires', async () => {
    const names = readAlertRules().map(({ alert }) => alert);
    const evaluated = await answerOf('the first evaluation of all rules', 60_000, undefined, async () => {
      const { groups } = (await ask('/api/v1/rules?type=alert')) as { groups: { rules: EvaluatedRule[] }[] };
      const rules = groups.flatMap((group) => group.rules);
      return rules.length > 0 && rules.every(({ health }) => health === 'ok') ? rules : undefined;
    });
    expect(evaluated.map(({ name }) => name)).toEqual(names);
    expect(evaluated.filter(({ state }) => state === 'firing')).toEqual([]);
  });

  it('knows the messages in the parked queue', async () => {
    const query = 'rabbitmq_detailed_queue_messages{queue="order-timeout.v1.parked"}';
    const messages = await answerOf('a sample', 60_000, undefined, async () => {
      const { result } = (await ask(`/api/v1/query?query=${encodeURIComponent(query)}`)) as {
        result: { value: [number, string] }[];
      };
      return result[0]?.value[1];
    });
    expect(Number(messages)).toBe(0);
  });

  it('has the lateness of an order that was closed', async () => {
    const shop = new ShopClient('service-plain');
    await shop.closing(await shop.place(1_000));
    const query = 'order_timeout_lateness_seconds_count{kind="order.payment"}';
    const value = await answerOf('a sample', 60_000, undefined, async () => {
      const { result } = (await ask(`/api/v1/query?query=${encodeURIComponent(query)}`)) as {
        result: { value: [number, string] }[];
      };
      return result[0]?.value[1];
    });
    expect(Number(value)).toBe(1);
  });

  it('runs nothing as root, and lets no process write to its image', async () => {
    expect(Object.keys(await containers())).toContain('prometheus');
    expect(await unconfined()).toEqual([]);
  });

  (hasGrafana ? it : it.skip)('gives Grafana this Prometheus as a data source, and the dashboards', async () => {
    await runDocumented('docker compose --profile observability up --detach --wait prometheus grafana');
    const authorization = `Basic ${Buffer.from('admin:local-grafana').toString('base64')}`;
    const health = await answerOf('the data source', 120_000, undefined, async () => {
      const url = `${await urlOf('grafana')}/api/datasources/uid/order-timeout-prometheus/health`;
      const answer = await fetch(url, { headers: { authorization } }).catch(() => undefined);
      return answer?.ok ? ((await answer.json()) as { status: string }) : undefined;
    });
    expect(health.status).toBe('OK');
    const found = await fetch(`${await urlOf('grafana')}/api/search?type=dash-db`, { headers: { authorization } });
    const uids = ((await found.json()) as { uid: string }[]).map(({ uid }) => uid);
    expect(uids.sort()).toEqual(
      readDashboards()
        .map(({ uid }) => uid)
        .sort(),
    );
    expect(await unconfined()).toEqual([]);
  });
});
