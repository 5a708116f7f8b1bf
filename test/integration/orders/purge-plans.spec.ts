import { Database } from '../../../src/database';
import { type DataSource, type EntityManager } from 'typeorm';
import { Inventory } from '../../../src/inventory';
import { PurgeOrders, PAGE_SIZE } from '../../../src/orders/retention/purge-orders';
import { idempotencyKeys, PurgeRows, settledMoney } from '../../../src/orders/retention/purge';
import { createDatabase, type TestDatabase } from '../../support/database';

const SCHEMA = 'order_timeout';
const ORDERS = 20_000;
const DAY_MS = 86_400_000;
const SERIES = `generate_series(1, ${ORDERS}) n`;
const ID = `md5(n::text)`;
const OLD = `now() - interval '100 days'`;

const FILL = [
  `INSERT INTO ${SCHEMA}.orders (id, status, version, amount, currency, expires_at, fingerprint, created_at, updated_at)
   SELECT ${ID}, 'CLOSED', 2, 1, 'EUR', ${OLD}, 'f', ${OLD}, CASE WHEN n % 50 = 0 THEN ${OLD} ELSE now() END FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.order_line (order_id, line_no, sku, quantity, unit_amount) SELECT ${ID}, 1, 's', 1, 1 FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
   SELECT 'fake', n::text, ${ID}, 'CLOSED', 1, 'EUR' FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.order_history (order_id, version, to_status, cause) SELECT ${ID}, 1, 'PENDING', 'api' FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.inventory (sku, on_hand) VALUES ('s', 1)`,
  `INSERT INTO ${SCHEMA}.reservation (order_id, sku, qty, state) SELECT ${ID}, 's', 1, 'RELEASED' FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.refund (number, provider, reference, order_id, amount, currency, reason, status)
   SELECT ${ID}, 'fake', n::text, ${ID}, 1, 'EUR', 'late', 'REFUNDED' FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, order_id, amount, currency, evidence, reason, handling, created_at)
   SELECT gen_random_uuid(), 'fake', n::text, ${ID}, 1, 'EUR', '{}', 'late', 'refunding', ${OLD} FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.idempotency_key (scope, key, fingerprint, response, created_at)
   SELECT 'place:default', ${ID}, 'f', '{}', ${OLD} FROM ${SERIES}`,
  `INSERT INTO ${SCHEMA}.timeout (kind, key, generation, due_at, next_attempt_at)
   SELECT 'order.payment', 'pending-' || n, n, now() + interval '1 day', now() FROM ${SERIES}`,
];

describe.each(['with statistics', 'before the first ANALYZE'])(`plans of the purge, %s`, (when) => {
  let database: TestDatabase;
  const plans: string[] = [];

  /** Explains and runs every statement. */
  const explaining = (manager: Pick<EntityManager, 'query'>): Pick<EntityManager, 'query'> => ({
    query: async <T>(text: string, parameters?: unknown[]): Promise<T> => {
      const isDelete = text.startsWith('DELETE');
      const explain = isDelete ? 'EXPLAIN (ANALYZE)' : 'EXPLAIN';
      const rows = await manager.query<{ 'QUERY PLAN': string }[]>(`${explain} ${text}`, parameters);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return isDelete ? ([] as T) : manager.query<T>(text, parameters);
    },
  });
  const explained = (): Database => {
    const { dataSource } = database;
    const createQueryRunner = (): object => {
      const runner = dataSource.createQueryRunner();
      // The runner sends single statements itself. Statements that open and end a transaction need no plan.
      const single = explaining(dataSource.manager).query;
      const query = (text: string, values?: unknown[]): Promise<unknown> =>
        values ? single(text, values) : (runner.query(text) as Promise<unknown>);
      return Object.create(runner, {
        manager: { value: explaining(runner.manager) },
        query: { value: query, configurable: true },
      }) as object;
    };
    return new Database({ createQueryRunner } as unknown as DataSource, SCHEMA);
  };

  beforeAll(async () => {
    database = await createDatabase();
    for (const table of ['orders', 'order_line', 'payment_attempt', 'order_history', 'reservation', 'refund']) {
      await database.dataSource.query(`ALTER TABLE ${SCHEMA}.${table} SET (autovacuum_enabled = off)`);
    }
    for (const statement of FILL) await database.dataSource.query(statement);
    if (when === 'with statistics') await database.dataSource.query('ANALYZE');
  });
  afterAll(() => database.drop());
  beforeEach(() => (plans.length = 0));

  it('reads a page of the orders and finds all of their rows by index', async () => {
    const purge = new PurgeOrders(
      explained(),
      new Inventory(explained()),
      { kinds: ['order-listener.audit'] },
      10 * DAY_MS,
    );
    const { purged, next } = await purge.purgePage(purge.beginning);
    expect(purged).toBeGreaterThan(0);
    expect(next).toHaveLength(1);
    expect(plans[0]).toContain('using orders_pkey');
    // The outbox is empty here, and always small.
    const scans = plans.join('\n').match(/Seq Scan on (?!outbox)\w+/g);
    expect(scans).toBeNull();
  });

  it.each([
    ['idempotency keys', idempotencyKeys, 'idempotency_key_pkey'],
    ['settled money', settledMoney, 'unmatched_payment_pkey'],
  ] as const)('reads a page of the %s by their key', async (_, rows, index) => {
    const purge = new PurgeRows(explained(), rows(SCHEMA), 10 * DAY_MS);
    const { purged, next } = await purge.purgePage(purge.beginning);
    expect([purged, next?.length]).toEqual([PAGE_SIZE, purge.beginning.length]);
    expect(plans[0]).toContain(`using ${index}`);
    expect(plans[0]).toContain('Tid Scan');
    expect(plans[0]).not.toContain('Seq Scan');
  });
});
