import { InventoryQueries } from '../../../src/inventory/inventory-queries';
import { createDatabase, type TestDatabase } from '../../support/database';

const queries = new InventoryQueries('order_timeout');
const ORDERS = 500;
const SKUS = 400;

/** What a join of every wanted sku with every locked one would look at: SKUS × SKUS. */
const compared = (plan: string): number =>
  [...plan.matchAll(/Rows Removed by Join Filter: (\d+)/g)].reduce((sum, [, rows]) => sum + Number(rows), 0);

describe('the plan of a reservation of 500 orders, with 40 000 reservations and their statistics', () => {
  const lines = Array.from({ length: ORDERS }, (_, n) => ({ orderId: `new-${n}`, sku: `sku-${n % SKUS}` }));
  const list = (values: readonly string[]): string => `'{${values.join(',')}}'`;
  const args = [lines.map((line) => line.orderId), lines.map((line) => line.sku), lines.map(() => '1')].map(list);
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    await database.dataSource.query(
      `INSERT INTO order_timeout.inventory SELECT 'sku-' || n, 1000000 FROM generate_series(0, ${SKUS - 1}) n`,
    );
    await database.dataSource.query(
      `INSERT INTO order_timeout.reservation (order_id, sku, qty)
       SELECT 'old-' || n, 'sku-' || n % ${SKUS}, 1 FROM generate_series(1, 40000) n`,
    );
    await database.dataSource.query('ANALYZE order_timeout.reservation, order_timeout.inventory');
  });
  afterAll(() => database.drop());

  it.each(['force_generic_plan', 'force_custom_plan'])('compares no sku with all others, by %s', async (mode) => {
    const client = database.dataSource.createQueryRunner();
    await client.startTransaction();
    await client.query(`SET LOCAL plan_cache_mode = ${mode}`);
    await client.query(`PREPARE ${mode} (text[], text[], int[]) AS ${queries.reserve}`);
    const rows = await client.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN (ANALYZE) EXECUTE ${mode}(${args.join(', ')})`);
    await client.rollbackTransaction();
    await client.release();
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain(`rows=${SKUS} loops=1`);
    expect(compared(plan)).toBeLessThan(SKUS);
  });
});
