import { Test, type TestingModule } from '@nestjs/testing';
import { Orders } from 'nestjs-order-timeout';
import { OrderTimeoutTestKit } from 'nestjs-order-timeout/testing';
import { DataSource } from 'typeorm';
import { Checkout, ShopModule } from './shop.module';

const TABLES = `
  DROP TABLE IF EXISTS hold, product;
  CREATE TABLE product (sku text PRIMARY KEY, available integer NOT NULL);
  CREATE TABLE hold (order_id text, sku text, quantity integer, PRIMARY KEY (order_id, sku));
  INSERT INTO product VALUES ('apple', 10)`;
const STOCK = 'SELECT available, (SELECT coalesce(sum(quantity), 0)::int FROM hold) AS held FROM product';

describe('stock in a table of the shop', () => {
  let app: TestingModule;
  let kit: OrderTimeoutTestKit;
  let dataSource: DataSource;

  beforeAll(async () => {
    const builder = Test.createTestingModule({ imports: [ShopModule] });
    app = await OrderTimeoutTestKit.override(builder, { schema: 'own_stock_test', payments: ['bank'] }).compile();
    await app.init();
    kit = OrderTimeoutTestKit.from(app);
    dataSource = app.get(DataSource);
  });

  afterAll(async () => {
    await dataSource.query('DROP TABLE hold, product');
    await app.close();
  });

  beforeEach(async () => {
    await kit.clear();
    await dataSource.query(TABLES);
  });

  const stock = async (): Promise<unknown> => (await dataSource.query<unknown[]>(STOCK))[0];
  const pay = (orderId: string) =>
    app.get(Orders).markPaid({ orderId, provider: 'bank', reference: orderId, amount: 4200n, currency: 'EUR' });

  it('is held by an open order, and released when the order is closed at its deadline', async () => {
    await app.get(Checkout).buy('o-1', 'apple', 2);
    expect(await stock()).toEqual({ available: 8, held: 2 });
    expect((await kit.expire('o-1')).status).toBe('CLOSED');
    expect(await stock()).toEqual({ available: 10, held: 0 });
  });

  it('is released when the order is canceled', async () => {
    await app.get(Checkout).buy('o-1', 'apple', 2);
    await app.get(Orders).cancel({ orderId: 'o-1' });
    expect(await stock()).toEqual({ available: 10, held: 0 });
  });

  it('is sold when the order is paid', async () => {
    await app.get(Checkout).buy('o-1', 'apple', 2);
    expect((await pay('o-1')).outcome).toBe('paid');
    expect(await stock()).toEqual({ available: 8, held: 0 });
  });

  it('is not taken for an order that is not placed', async () => {
    await expect(app.get(Checkout).buy('o-1', 'apple', 11)).rejects.toThrow('not enough apple');
    expect(await app.get(Orders).get('o-1')).toBeUndefined();
    expect(await stock()).toEqual({ available: 10, held: 0 });
  });

  it('stays released when a payment comes too late', async () => {
    await app.get(Checkout).buy('o-1', 'apple', 2);
    await kit.expire('o-1');
    expect((await pay('o-1')).outcome).toBe('late');
    expect((await app.get(Orders).get('o-1'))?.status).toBe('CLOSED');
    expect(await stock()).toEqual({ available: 10, held: 0 });
  });
});
