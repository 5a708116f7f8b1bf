import { type NewOrder, type PlaceResult } from '../../../src/orders/model/new-order';
import { fill, newOrder, openShop, type Shop, SCHEMA, stockOf } from './shop';

const wanting = (quantities: Record<string, number>, overrides: Partial<NewOrder> = {}): NewOrder =>
  newOrder({
    paymentWindowMs: 600_000,
    lines: Object.entries(quantities).map(([sku, quantity]) => ({ sku, quantity, unitAmount: 1 })),
    ...overrides,
  });
const codeOf = (result?: PlaceResult): string | undefined =>
  result?.outcome === 'rejected' ? result.code : result?.outcome;

describe('orders that lack stock', () => {
  let shop: Shop;
  beforeEach(async () => {
    shop = await openShop();
    await fill(shop, { gone: 0, scarce: 2, apple: 1_000 });
  });
  afterEach(() => shop.database.drop());

  const place = async (order: NewOrder): Promise<PlaceResult | undefined> => (await shop.place.execute([order]))[0];

  /** Bytes of all tables except the stock, including dead rows. */
  const sizeOfTables = async (): Promise<number | undefined> => {
    const [row] = await shop.dataSource.query<{ bytes: number }[]>(
      `SELECT sum(pg_relation_size(oid))::int AS bytes FROM pg_class
        WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind = 'r'
          AND relname NOT IN ('inventory', 'engine_setting', 'migrations')`,
    );
    return row?.bytes;
  };

  /** After a rejection, the next batches read the stock before they write. */
  const refuseOnce = async (): Promise<void> => expect(codeOf(await place(wanting({ gone: 1 })))).toBe('OUT_OF_STOCK');

  it('write nothing after the first rejection, not even rows that are rolled back', async () => {
    await refuseOnce();
    const before = await sizeOfTables();
    for (let n = 0; n < 30; n++) {
      expect(codeOf(await place(wanting({ gone: 1 }, { idempotencyKey: `k${n}` })))).toBe('OUT_OF_STOCK');
      expect(codeOf(await place(wanting({ apple: 1, [`nowhere${n}`]: 1 })))).toBe('UNKNOWN_SKU');
    }
    const bulk = await shop.place.execute(Array.from({ length: 100 }, () => wanting({ scarce: 3 })));
    expect(new Set(bulk.map(codeOf))).toEqual(new Set(['OUT_OF_STOCK']));
    expect(await sizeOfTables()).toBe(before);
  });

  it.each(['at first', 'after another one'])(
    'name all shortages, and the sums of lines with the same SKU, %s',
    async (when) => {
      if (when !== 'at first') await refuseOnce();
      const twice = { sku: 'scarce', quantity: 3, unitAmount: 1 };
      const order = wanting({}, { lines: [twice, { sku: 'gone', quantity: 1, unitAmount: 1 }, twice] });
      expect(await place(order)).toEqual({
        outcome: 'rejected',
        id: order.id,
        code: 'OUT_OF_STOCK',
        shortages: [
          { sku: 'scarce', wanted: 6, available: 2 },
          { sku: 'gone', wanted: 1, available: 0 },
        ],
      });
    },
  );

  it('do not restart the transaction of the other orders', async () => {
    await refuseOnce();
    const runner = shop.dataSource.createQueryRunner();
    const query = jest.spyOn(Object.getPrototypeOf(runner) as { query(sql: string): Promise<unknown> }, 'query');
    const orders = [{ apple: 1 }, { gone: 1 }, { apple: 2 }].map((wish) => wanting(wish));
    const results = await shop.place.execute(orders);
    const statements = query.mock.calls.map(([sql]) => sql.trim().split(/\s/)[0]);
    query.mockRestore();
    await runner.release();
    expect(results.map(codeOf)).toEqual(['placed', 'OUT_OF_STOCK', 'placed']);
    expect(statements).toEqual(['SELECT', 'SELECT', 'START', 'WITH', 'WITH', 'WITH', 'SAVEPOINT']);
  });

  it.each(['at first', 'after another one'])(
    'are served in the order of the request, and a later, smaller one may still fit, %s',
    async (when) => {
      if (when !== 'at first') await refuseOnce();
      const orders = [3, 1, 2, 1, 1].map((scarce) => wanting({ scarce }));
      const results = await shop.place.execute(orders);
      expect(results.map(codeOf)).toEqual(['OUT_OF_STOCK', 'placed', 'OUT_OF_STOCK', 'placed', 'OUT_OF_STOCK']);
      expect(await stockOf(shop, 'scarce')).toEqual({ onHand: 2, reserved: 2 });
    },
  );

  it.each(['at first', 'after another one'])(
    'are replayed if they were placed before the goods were sold, %s',
    async (when) => {
      if (when !== 'at first') await refuseOnce();
      const first = wanting({ scarce: 2 }, { idempotencyKey: 'mine' });
      await place(first);
      expect(codeOf(await place(first))).toBe('replayed');
      const again = await shop.place.execute([wanting({ scarce: 1 }), first, wanting({ apple: 1 })]);
      expect(again.map(codeOf)).toEqual(['OUT_OF_STOCK', 'replayed', 'placed']);
    },
  );

  it.each(['at first', 'after another one'])(
    'report a conflict of id or idempotency key before a lack of stock, %s',
    async (when) => {
      if (when !== 'at first') await refuseOnce();
      const first = wanting({ scarce: 2 }, { idempotencyKey: 'mine' });
      await place(first);
      expect(codeOf(await place({ ...first, amount: 5, idempotencyKey: undefined }))).toBe('ORDER_EXISTS');
      expect(codeOf(await place(wanting({ gone: 1 }, { idempotencyKey: 'mine' })))).toBe('IDEMPOTENCY_KEY_REUSED');
      const withNewKey = await place({ ...first, idempotencyKey: 'other' });
      expect(codeOf(withNewKey)).toBe('replayed');
      expect(codeOf(await place(wanting({ gone: 1 }, { idempotencyKey: 'other' })))).toBe('IDEMPOTENCY_KEY_REUSED');
    },
  );

  it.each(['at first', 'after another one'])(
    'keep their idempotency key usable until there is stock, %s',
    async (when) => {
      if (when !== 'at first') await refuseOnce();
      const order = wanting({ gone: 1 }, { idempotencyKey: 'later' });
      expect(codeOf(await place(order))).toBe('OUT_OF_STOCK');
      await fill(shop, { gone: 1 });
      expect(codeOf(await place(order))).toBe('placed');
    },
  );
});
