import { fromTable } from '../../../examples/moving/from-table';
import { until } from '../../support/engine';
import { ImportTarget, pendingOrders } from '../../support/import-target';

describe('the import from a table of orders', () => {
  let target: ImportTarget;

  beforeAll(async () => {
    target = await ImportTarget.open();
    await target.database.dataSource.query('CREATE TABLE orders (id text, status text, expires_at timestamptz)');
  });
  afterAll(() => target.close());

  afterEach(async () => {
    await target.database.dataSource.query('DELETE FROM orders');
    await target.forget();
  });

  const insert = (status: string, orders: readonly { orderId: string; dueAt: Date }[]) =>
    target.database.dataSource.query(
      'INSERT INTO orders SELECT id, $1, at FROM unnest($2::text[], $3::timestamptz[]) AS o (id, at)',
      [status, orders.map(({ orderId }) => orderId), orders.map(({ dueAt }) => dueAt.toISOString())],
    );

  it('takes every order that waits, with its deadline, and no other', async () => {
    const orders = pendingOrders();
    await insert('pending', orders);
    await insert('paid', [{ orderId: 'o-paid', dueAt: new Date(Date.now() + 600_000) }]);
    expect(await target.import(fromTable(target.database.dataSource))).toBe(2_500);
    expect(await target.pending()).toEqual(orders);
  });

  it('changes nothing when it is repeated', async () => {
    const orders = pendingOrders(3);
    await insert('pending', orders);
    await target.import(fromTable(target.database.dataSource));
    await target.import(fromTable(target.database.dataSource));
    expect(await target.pending()).toEqual(orders);
  });

  it('closes an order at once whose deadline has passed', async () => {
    await insert('pending', [{ orderId: 'o-late', dueAt: new Date(Date.now() - 60_000) }]);
    await target.import(fromTable(target.database.dataSource));
    await until(() => target.closed.includes('o-late'));
  });
});
