import { inventorySql } from '../../../src/inventory/inventory-queries';
import { createDatabase, type TestDatabase } from '../../support/database';

const queries = inventorySql({ schema: 'order_timeout' });
const ORDERS = 500;
const SKUS = 400;
const MODES = ['force_generic_plan', 'force_custom_plan'] as const;

const numbers = Array.from({ length: ORDERS }, (_, n) => n);
const list = (values: readonly string[]): string => `'{${values.join(',')}}'`;

/** What a join of every row with every other one would look at: thousands. */
const compared = (plan: string): number =>
  [...plan.matchAll(/Rows Removed by Join Filter: (\d+)/g)].reduce((sum, [, rows]) => sum + Number(rows), 0);

describe.each(['with statistics', 'before the first ANALYZE'])('plans with 40,000 reservations, %s', (when) => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    await database.dataSource.query('ALTER TABLE order_timeout.reservation SET (autovacuum_enabled = off)');
    await database.dataSource.query(
      `INSERT INTO order_timeout.inventory (sku, on_hand, reserved)
       SELECT 'sku-' || n, 1000000, 100 FROM generate_series(0, ${SKUS - 1}) n`,
    );
    await database.dataSource.query(
      `INSERT INTO order_timeout.reservation (order_id, sku, qty)
       SELECT 'old-' || n, 'sku-' || n % ${SKUS}, 1 FROM generate_series(0, 39999) n`,
    );
    if (when === 'with statistics') {
      await database.dataSource.query('ANALYZE order_timeout.reservation, order_timeout.inventory');
    }
  });
  afterAll(() => database.drop());

  async function planOf(sql: string, mode: string, types: string, args: readonly string[]): Promise<string> {
    const client = database.dataSource.createQueryRunner();
    try {
      await client.startTransaction();
      await client.query('DEALLOCATE ALL');
      await client.query(`SET LOCAL plan_cache_mode = ${mode}`);
      await client.query(`PREPARE looked_at (${types}) AS ${sql}`);
      const explain = `EXPLAIN (ANALYZE) EXECUTE looked_at(${args.join(', ')})`;
      const rows = (await client.query(explain)) as unknown as { 'QUERY PLAN': string }[];
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    } finally {
      await client.rollbackTransaction();
      await client.release();
    }
  }

  it.each(MODES)('do not compare each SKU with all others, by %s', async (mode) => {
    const ids = numbers.map((n) => `new-${n}`);
    const skus = numbers.map((n) => `sku-${n % SKUS}`);
    const args = [list(ids), list(skus), list(numbers.map(() => '1')), list(numbers.map(() => 'm'))];
    const plan = await planOf(queries.reserve, mode, 'text[], text[], int[], text[]', args);
    expect(plan).toContain('LockRows');
    expect(plan).toMatch(new RegExp(`rows=${SKUS}(\\.00)? loops=1`));
    expect(compared(plan)).toBeLessThan(SKUS);
  });

  it.each(MODES)('find ending lines by order and then by ctid, by %s', async (mode) => {
    const args = [list(numbers.map((n) => `old-${n}`)), list([])];
    const plan = await planOf(queries.end, mode, 'text[], text[]', args);
    expect(plan).toMatch(/Index Cond: \(order_id = e\.order_id\)/);
    expect(plan).toContain('LockRows');
    expect(plan).toContain('Tid Scan on reservation');
    expect(plan).not.toContain('Seq Scan on reservation');
    expect(compared(plan)).toBeLessThan(SKUS);
  });
});
