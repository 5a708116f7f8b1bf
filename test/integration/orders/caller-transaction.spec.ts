import { Client } from 'pg';
import { type Transaction } from '../../../src/public/transactions';
import { type PlaceResult } from '../../../src/orders/model/new-order';
import { fill, KEEPING, newOrder, openShop, type Shop } from './shop';

const UNUSABLE = 'ORDER_TIMEOUT/UNUSABLE_TRANSACTION';
const tooMany = { lines: [{ sku: 'apple', quantity: 1_000, unitAmount: 1 }] };

describe('a transaction of the caller', () => {
  let shop: Shop;
  let client: Client;
  beforeAll(async () => {
    shop = await openShop(KEEPING);
    await fill(shop, { apple: 100 });
    client = new Client({ connectionString: shop.database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await shop.database.drop();
  });

  const place = async (order: ReturnType<typeof newOrder>, tx: Transaction): Promise<PlaceResult | undefined> => {
    const [result] = await shop.place.execute([order], { tx });
    return result;
  };
  const exists = async (id: string) => (await shop.readOrder.execute(id)) !== undefined;

  it('keeps what was placed beside an order that was refused at the same time', async () => {
    const orders = [newOrder(), newOrder(tooMany), newOrder()];
    const results = await shop.dataSource.transaction((tx) => Promise.all(orders.map((order) => place(order, tx))));
    expect(results.map((result) => result?.outcome)).toEqual(['placed', 'rejected', 'placed']);
    expect(await Promise.all(orders.map(({ id }) => exists(id)))).toEqual([true, false, true]);
  });

  it('may be used by a listener of the call that is running in it', async () => {
    const next = [newOrder(), newOrder()];
    const [byManager, byHost] = next as [(typeof next)[0], (typeof next)[0]];
    shop.listeners.join(['order.cancelled'], async (_events, tx) => {
      await place(byManager, tx);
      await place(byHost, client);
    });
    const order = newOrder();
    await shop.place.execute([order]);
    await client.query('BEGIN');
    await shop.cancel.execute({ orderId: order.id }, { tx: client });
    await client.query('COMMIT');
    expect(await Promise.all(next.map(({ id }) => exists(id)))).toEqual([true, true]);
  });

  it('is refused if it is none, with what to pass instead', async () => {
    const { dataSource } = shop;
    const runner = dataSource.createQueryRunner();
    await expect(place(newOrder(), dataSource.manager)).rejects.toMatchObject({ code: UNUSABLE });
    // @ts-expect-error A DataSource is no transaction.
    await expect(place(newOrder(), dataSource)).rejects.toThrow('tx is a DataSource; pass the EntityManager');
    // @ts-expect-error Neither is a QueryRunner.
    await expect(place(newOrder(), runner)).rejects.toThrow('pass queryRunner.manager');
    await expect(place(newOrder(), client)).rejects.toMatchObject({ code: UNUSABLE });
    await expect(shop.scheduler.cancel([{ kind: 'a', key: 'b' }], { tx: client })).rejects.toThrow('was never begun');
    await expect(place(newOrder(), {} as never)).rejects.toThrow('tx has no method query(sql, parameters)');
  });

  it('is refused if its statements give no rows', async () => {
    const query = async () => [];
    await expect(place(newOrder(), { query } as never)).rejects.toThrow('must return { rows }');
  });
});
