import { type EntityManager, type MigrationInterface } from 'typeorm';
import { inventoryMigrations } from '../../../src/inventory';
import { orderMigrations } from '../../../src/orders';
import { ORDER_STATUSES } from '../../../src/orders/model/order';
import { findSamePayments, lockOrders } from '../../../src/orders/sql/lock-orders';
import { fill, newOrder, openShop, SCHEMA, type Shop } from './shop';

describe('the tables of orders and inventory', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop();
    await fill(shop, { apple: 10_000 });
  });
  afterAll(() => shop.database.drop());

  /** Runs a query object with every statement explained, too. */
  const explained = async (work: (tx: EntityManager) => Promise<unknown>): Promise<string> => {
    const plans: string[] = [];
    const { manager } = shop.dataSource;
    const query = async (sql: string, parameters: unknown[]): Promise<unknown> => {
      const rows = await manager.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${sql}`, parameters);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return manager.query(sql, parameters);
    };
    await work({ query } as unknown as EntityManager);
    return plans.join('\n\n');
  };

  it('identify their rows, so that a publication of all tables, as of an upgrade, keeps nothing from changing', async () => {
    const unidentified = await shop.dataSource.query<object[]>(`
      SELECT c.relname FROM pg_class c
       WHERE c.relnamespace = '${SCHEMA}'::regnamespace AND c.relkind = 'r' AND c.relreplident <> 'f'
             AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)`);
    expect(unidentified).toEqual([]);
  });

  it('finds orders and their attempts by index if there are many', async () => {
    const orders = Array.from({ length: 1_000 }, (_, index) =>
      newOrder({ paymentWindowMs: 60_000, lines: [], attempt: { provider: 'fake', reference: `many-${index}` } }),
    );
    await shop.place.execute(orders);
    await shop.dataSource.query(`ANALYZE ${SCHEMA}.orders, ${SCHEMA}.payment_attempt`);
    const ids = orders.slice(0, 5).map((order) => order.id);
    const plan = await explained((tx) => lockOrders(tx, shop.transaction.database, ids, 'skip-locked'));
    expect(plan).toContain('Index Scan using orders_pkey');
    expect(plan).toContain('payment_attempt_order');
    expect(plan).toContain('unmatched_payment_early');
    expect(plan).not.toContain('Seq Scan');
    const names = [{ provider: 'fake', reference: 'many-1', merchantAccount: null, transactionId: 't-1' }];
    const same = await explained((tx) => findSamePayments(tx, shop.transaction.database, names));
    expect(same).toContain('unmatched_payment_named');
    expect(same).not.toContain('Seq Scan');
  });

  it('accepts every status that the code defines, and no other', async () => {
    const [order] = [newOrder({ paymentWindowMs: 60_000 })];
    await shop.place.execute([order]);
    const set = (status: string) =>
      shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET status = $2 WHERE id = $1`, [order.id, status]);
    for (const status of ORDER_STATUSES) await set(status);
    await expect(set('SHIPPED')).rejects.toThrow('orders_status_check');
  });

  it('can be reverted and applied again', async () => {
    const migrations = [...inventoryMigrations(SCHEMA), ...orderMigrations(SCHEMA)].map(
      (Migration): MigrationInterface => new Migration(),
    );
    const runner = shop.dataSource.createQueryRunner();
    const tables = async (): Promise<string[]> => {
      const rows = await shop.dataSource.query<{ name: string }[]>(
        `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1`,
        [SCHEMA],
      );
      return rows.map((row) => row.name);
    };
    const before = await tables();
    for (const migration of migrations.toReversed()) await migration.down(runner);
    expect(await tables()).not.toContain('orders');
    expect((await tables()).length).toBe(before.length - 12);
    for (const migration of migrations) await migration.up(runner);
    await runner.release();
    expect(await tables()).toEqual(before);
  });
});
