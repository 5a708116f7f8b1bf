import { type PlaceResult } from '../../../src/orders/model/new-order';
import { fill, newOrder, openShop, type Shop, SCHEMA } from './shop';
import { SystemClock } from '../../../src/clock';

const soon = { paymentWindowMs: 600_000 };
const wanting = (sku: string, quantity = 1) => ({
  ...soon,
  lines: [{ sku, quantity, unitAmount: 1_999 }],
  amount: 1_999 * quantity,
});

describe('single orders that are placed at the same time', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop();
    await fill(shop, { apple: 100_000, pear: 100, fig: 1 });
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => shop.database.drop());

  const place = async (order: ReturnType<typeof newOrder>, actor?: string): Promise<PlaceResult | undefined> => {
    const [result] = await shop.place.execute([order], { by: { cause: 'api', actor } });
    return result;
  };
  const transactionsOf = async (ids: readonly string[]): Promise<number | undefined> => {
    const [row] = await shop.dataSource.query<{ n: number }[]>(
      `SELECT count(DISTINCT xmin::text)::int AS n FROM ${SCHEMA}.orders WHERE id = ANY($1)`,
      [ids],
    );
    return row?.n;
  };

  it('share transactions, and each has its own result and history', async () => {
    const orders = Array.from({ length: 60 }, () => newOrder(soon));
    const results = await Promise.all(orders.map((order) => place(order, `by ${order.id}`)));
    expect(results.map((result) => [result?.outcome, result?.id])).toEqual(orders.map(({ id }) => ['placed', id]));
    expect(await transactionsOf(orders.map(({ id }) => id))).toBe(3);
    for (const { id } of orders.slice(-3)) {
      expect(await shop.history.execute(id)).toMatchObject([{ actor: `by ${id}` }]);
    }
  });

  it('are rejected one by one', async () => {
    const orders = [soon, soon, soon, wanting('fig', 2), wanting('plum'), soon].map((wish) => newOrder(wish));
    const results = await Promise.all(orders.map((order) => place(order)));
    expect(results.map((result) => (result?.outcome === 'rejected' ? result.code : result?.outcome))).toEqual([
      'placed',
      'placed',
      'placed',
      'OUT_OF_STOCK',
      'UNKNOWN_SKU',
      'placed',
    ]);
  });

  it('do not block another one with the same id that can be placed', async () => {
    const refused = newOrder(wanting('fig', 2));
    const fitting = newOrder({ ...soon, id: refused.id });
    const others = [soon, soon].map((wish) => place(newOrder(wish)));
    const results = await Promise.all([...others, place(refused), place(fitting), place(fitting)]);
    expect(results.slice(2).map((result) => result?.outcome)).toEqual(['rejected', 'placed', 'replayed']);
  });

  /** Places 30 orders of free goods after six of locked ones. Returns how many of the six were decided by then. */
  async function decidedBeforeFree(): Promise<number> {
    const runner = shop.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`SELECT 1 FROM ${SCHEMA}.inventory WHERE sku = 'pear' FOR UPDATE`);
    let decided = 0;
    const held = Promise.all(
      Array.from({ length: 6 }, () => place(newOrder(wanting('pear'))).finally(() => decided++)),
    );
    const free = await Promise.all(Array.from({ length: 30 }, () => place(newOrder(soon))));
    const late = await place(newOrder(soon));
    const before = decided;
    await runner.commitTransaction();
    await runner.release();
    expect(new Set([...free, late].map((result) => result?.outcome))).toEqual(new Set(['placed']));
    expect((await held).map((result) => result?.outcome)).toEqual(Array(6).fill('placed'));
    return before;
  }

  it('wait for goods that another transaction has locked without delaying orders of other goods', async () => {
    // The two seconds of patience do not pass, in which a busy machine may not have placed the others.
    jest.spyOn(SystemClock.prototype, 'monotonic').mockReturnValue(new SystemClock().monotonic());
    expect(await decidedBeforeFree()).toBe(0);
  });
});
