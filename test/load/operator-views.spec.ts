import { DataSource, type Logger } from 'typeorm';
import { createDatabase, type TestDatabase } from '../support/database';
import { KEYS, openOperatorHost, type OperatorHost, type SignedIn } from '../e2e/operator/operator-host';
import { ORDERS, TRACE, writeMillionOrders } from './million-orders';

const LIMIT_MS = 200;
const RUNS = 5;
const LARGE = ['orders', 'order_history', 'payment_attempt', 'timeout'];

/** Every view of the page, with what must be on it. */
const VIEWS: readonly [path: string, expected: object][] = [
  ['overview', { database: { state: 'up' }, orders: { pending: 10_001, partial: true } }],
  ['orders', { next: expect.any(String) as string }],
  ['orders?status=PENDING&limit=200', { next: expect.any(String) as string }],
  ['orders?status=PAID', { orders: [], next: expect.any(String) as string }],
  ['orders?merchantId=merchant-7&status=PENDING', { next: expect.any(String) as string }],
  ['orders?provider=posting', { next: expect.any(String) as string }],
  ['orders?provider=nobody', { orders: [], next: expect.any(String) as string }],
  ['orders?expiresTo=2000-01-02T00:00:00Z', { orders: [], next: expect.any(String) as string }],
  ['orders?reference=reference-500000', { orders: [{ id: 'order-500000' }], next: null }],
  [`orders?q=order-1`, { orders: [{ id: 'order-1' }] }],
  ['orders?q=reference-5', { orders: [{ id: 'order-5' }] }],
  ['orders?q=merchant-99', { next: expect.any(String) as string }],
  [`orders?q=${TRACE}`, { orders: [{ id: `order-${ORDERS}` }] }],
  ['orders/order-500000', { status: 'PENDING', personal: 'hidden' }],
  ['parked-timeouts/groups', [{ reason: 'provider "…" failed # times', count: 10_001 }]],
  ['parked-timeouts?limit=100', expect.anything() as object],
  [`parked-timeouts?reason=${encodeURIComponent('provider "…" failed # times')}`, expect.anything() as object],
  ['unmatched', expect.anything() as object],
  ['refunds?state=failed', []],
  ['refunds?state=pending', []],
  ['outbox/parked', []],
];

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Every node of a plan. */
function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

describe('with a million pending orders', () => {
  const sent: { sql: string; values: unknown[] }[] = [];
  let database: TestDatabase;
  let host: OperatorHost;
  const as = {} as Record<'reader' | 'ofA', SignedIn>;

  beforeAll(async () => {
    const created = await createDatabase();
    const logger = { logQuery: (sql: string, values: unknown[] = []) => sent.push({ sql, values }) };
    const quiet = Object.assign(
      { logQueryError: () => undefined, logQuerySlow: () => undefined },
      {
        ...{ log: () => undefined, logMigration: () => undefined, logSchemaBuild: () => undefined, ...logger },
      },
    ) as unknown as Logger;
    const plan = { type: 'postgres', url: created.url, logging: true, logger: quiet } as const;
    const dataSource = await new DataSource(plan).initialize();
    await writeMillionOrders(dataSource);
    database = { ...created, dataSource, drop: () => dataSource.destroy().then(() => created.drop()) };
    host = await openOperatorHost({ database });
    as.reader = await host.signIn(KEYS.reader);
    as.ofA = await host.signIn(KEYS.ofA);
  });
  afterAll(() => host.close());

  it.each(VIEWS)('%s takes less than 200 ms', async (path, expected) => {
    const times: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      const beganAt = performance.now();
      const { status, body } = await as.reader.get(path);
      times.push(performance.now() - beganAt);
      expect(status).toBe(200);
      expect(body).toMatchObject(expected);
      // An overview is shared for a second.
      if (path === 'overview') await new Promise((resolve) => setTimeout(resolve, 1_001));
    }
    // The best run: other programs may slow down any other.
    expect(Math.min(...times)).toBeLessThan(LIMIT_MS);
  });

  it.each(VIEWS)('%s reads no table from end to end, and sorts nothing large', async (path) => {
    await new Promise((resolve) => setTimeout(resolve, 1_001));
    sent.length = 0;
    await as.reader.get(path).then(({ status }) => expect(status).toBe(200));
    const ours = sent.filter(({ sql }) => /order_timeout\.|SET LOCAL enable/.test(sql) && !/engine_setting/.test(sql));
    expect(ours.length).toBeGreaterThan(0);
    for (const plan of await plansOf(ours.slice())) {
      for (const one of nodesOf(plan)) {
        const { 'Node Type': node, 'Relation Name': table, 'Actual Rows': rows } = one;
        if (node === 'Seq Scan') expect(LARGE).not.toContain(table);
        if (node === 'Sort') expect(rows).toBeLessThan(20_000);
        expect(rows + (one['Rows Removed by Filter'] ?? 0)).toBeLessThanOrEqual(60_000);
      }
    }
  });

  /** Explains the statements of a view in a transaction of their own, with the planner settings that they were sent with. */
  async function plansOf(statements: readonly { sql: string; values: unknown[] }[]): Promise<Plan[]> {
    const runner = database.dataSource.createQueryRunner();
    const plans: Plan[] = [];
    await runner.startTransaction();
    for (const { sql, values } of statements) {
      if (/^\s*(START|SET)/.test(sql)) {
        await runner.query(sql.replace(/^\s*START TRANSACTION[^;]*;?/, '') || 'SELECT 1');
        continue;
      }
      if (!/^\s*(SELECT|WITH)/.test(sql)) continue;
      const [row] = (await runner.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, values)) as unknown as {
        'QUERY PLAN': [{ Plan: Plan }];
      }[];
      if (row) plans.push(row['QUERY PLAN'][0].Plan);
    }
    await runner.rollbackTransaction();
    await runner.release();
    return plans;
  }
});
