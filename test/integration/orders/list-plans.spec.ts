import { type ScopedFilter } from '../../../src/orders';
import { BY_INDEX, findOrders, type FoundOrders } from '../../../src/orders/sql/find-orders';
import { type OrderPosition } from '../../../src/orders/model/order-filter';
import { createDatabase, type TestDatabase } from '../../support/database';

const SCHEMA = 'order_timeout';
const ORDERS = 100_000;
const FILL = [
  // Nine of ten orders belong to one merchant, and the oldest thousand are open.
  `INSERT INTO ${SCHEMA}.orders (id, merchant_id, status, version, amount, currency, expires_at, fingerprint, created_at)
   SELECT md5(n::text), CASE WHEN n % 10 = 0 THEN 'm' || (n % 50) ELSE 'big' END,
          CASE WHEN n > 99000 THEN 'PENDING' ELSE 'CLOSED' END, 2, 1, 'EUR', now(), 'f', now() - n * interval '1 minute'
     FROM generate_series(1, ${ORDERS}) n`,
  `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
   SELECT 'p' || (n % 5), n::text, md5(n::text), 'CLOSED', 1, 'EUR' FROM generate_series(1, ${ORDERS}) n`,
];

const FILTERS: readonly [name: string, filter: ScopedFilter, index: string][] = [
  ['everything', {}, 'orders_created'],
  ['a merchant', { merchantId: 'm10' }, 'orders_merchant'],
  ['a large merchant', { merchantId: 'big' }, 'orders_'],
  ['the merchants of a key', { merchants: ['m10', 'm20', 'big'] }, 'orders_merchant'],
  ['a rare status', { status: ['PENDING'] }, 'orders_created'],
  ['a rare status of a merchant', { status: ['PENDING'], merchantId: 'm10' }, 'orders_merchant'],
  ['deadlines', { expiresFrom: new Date('2100-01-01') }, 'orders_created'],
  ['a time', { createdFrom: new Date('2026-01-01'), createdTo: new Date('2100-01-01') }, 'orders_created'],
  ['a provider', { provider: 'p3' }, 'payment_attempt_order'],
  ['a provider that nobody uses', { provider: 'nobody' }, 'payment_attempt_order'],
  ['a reference', { reference: '4711' }, 'payment_attempt_pkey'],
  ['a reference at a provider', { reference: '4711', provider: 'p1' }, 'payment_attempt_pkey'],
];

describe.each(['with statistics', 'before the first ANALYZE'])('plans of the lists of 100 000 orders, %s', (when) => {
  let database: TestDatabase;
  let middle: OrderPosition;

  beforeAll(async () => {
    database = await createDatabase();
    const tables = ['orders', 'payment_attempt'].map((name) => `${SCHEMA}.${name}`);
    if (when !== 'with statistics')
      for (const table of tables)
        await database.dataSource.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
    for (const sql of FILL) await database.dataSource.query(sql);
    if (when === 'with statistics') for (const table of tables) await database.dataSource.query(`ANALYZE ${table}`);
    const [row] = await database.dataSource.query<{ id: string; created_at: Date }[]>(
      `SELECT id, created_at FROM ${SCHEMA}.orders WHERE id = md5('50000')`,
    );
    middle = { id: row?.id ?? '', createdAt: row?.created_at ?? new Date() };
  });
  afterAll(() => database.drop());

  /** Runs the statements of one step, and returns their plans. */
  async function plansOf(filter: ScopedFilter, after?: OrderPosition): Promise<string[]> {
    const plans: string[] = [];
    await database.dataSource.transaction(async (tx) => {
      await tx.query(BY_INDEX);
      const query = async <T>(sql: string, values?: unknown[]): Promise<T> => {
        const rows = await tx.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${sql}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return tx.query<T>(sql, values);
      };
      await findOrders({ query }, { schema: SCHEMA }, filter, after, 50);
    });
    return plans;
  }

  it.each(FILTERS)('%s: every statement uses an index and reads no whole table', async (_, filter, index) => {
    for (const after of [undefined, middle]) {
      const plans = await plansOf(filter, after);
      expect(plans[0]).toContain(index);
      for (const plan of plans) {
        expect(plan).not.toContain('Seq Scan');
        expect(plan).not.toContain('Hash');
        if (filter.reference === undefined) expect(plan).not.toMatch(/->\s+Sort\b/);
      }
    }
  });

  it('are bounded: a filter that nothing fits reads 20 000 rows at a time, to the end', async () => {
    let steps = 0;
    let from: OrderPosition | undefined;
    const found: string[] = [];
    do {
      const step: FoundOrders = await findOrders(
        database.dataSource.manager,
        { schema: SCHEMA },
        { status: ['PENDING'] },
        from,
        2_000,
      );
      found.push(...step.found.map(({ id }) => id));
      from = step.scannedTo;
      steps += 1;
    } while (from);
    expect([found.length, new Set(found).size]).toEqual([1_000, 1_000]);
    expect(steps).toBe(ORDERS / 20_000 + 1);
  });
});
