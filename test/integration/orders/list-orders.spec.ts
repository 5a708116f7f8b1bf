import { type OrderFilter, type OrderPage } from '../../../src/orders';
import { encodePosition } from '../../../src/orders/model/order-filter';
import { newOrder, openShop, SCHEMA, type Shop } from './shop';

const HOUR_MS = 3_600_000;
const at = (hour: number): Date => new Date(Date.UTC(2030, 0, 1, hour));

/** Twelve orders, one per hour, with deadlines in the opposite order. Some share the time of their creation. */
const PLAN = Array.from({ length: 12 }, (_, n) => ({
  id: `o-${String(n).padStart(2, '0')}`,
  merchantId: n % 3 === 0 ? 'a' : 'b',
  status: n % 4 === 0 ? 'CLOSED' : 'PENDING',
  createdAt: at(Math.floor(n / 2)),
  expiresAt: at(30 - n),
  attempt: { provider: n % 2 === 0 ? 'p' : 'q', reference: n < 6 ? 'same' : `r-${n}` },
}));

describe('lists of orders', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [] });
    for (const { id, merchantId, attempt } of PLAN) {
      const account = { ...attempt, merchantAccount: id };
      await shop.place.execute([newOrder({ id, merchantId, lines: [], paymentWindowMs: HOUR_MS, attempt: account })]);
    }
    for (const { id, status, createdAt, expiresAt } of PLAN) {
      const values = [id, status, createdAt, expiresAt];
      const set = 'status = $2, created_at = $3, expires_at = $4';
      await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET ${set} WHERE id = $1`, values);
    }
  });
  afterAll(() => shop.database.drop());

  const idsOf = async (page?: OrderPage): Promise<string[]> =>
    (await shop.list.execute(page)).orders.map(({ id }) => id);
  const planned = (isWanted: (order: (typeof PLAN)[number]) => boolean): string[] =>
    PLAN.filter(isWanted)
      .map(({ id }) => id)
      .toReversed();

  it('have all orders, newest first, as they are read one by one', async () => {
    expect(await idsOf()).toEqual(planned(() => true));
    const { orders, next } = await shop.list.execute({ limit: 1 });
    expect(orders).toEqual([await shop.readOrder.execute('o-11')]);
    expect(next).not.toBeNull();
  });

  it.each<[string, OrderFilter & Pick<OrderPage, 'merchants'>, (order: (typeof PLAN)[number]) => boolean]>([
    ['a status', { status: ['CLOSED'] }, ({ status }) => status === 'CLOSED'],
    ['several', { status: ['CLOSED', 'PENDING'] }, () => true],
    ['a merchant', { merchantId: 'a' }, ({ merchantId }) => merchantId === 'a'],
    ['the merchants of the caller', { merchants: ['a'] }, ({ merchantId }) => merchantId === 'a'],
    ['several of them', { merchants: ['b', 'a', 'a'] }, () => true],
    ['one of them', { merchants: ['a', 'b'], merchantId: 'b' }, ({ merchantId }) => merchantId === 'b'],
    ['a merchant that is not the caller’s', { merchants: ['a'], merchantId: 'b' }, () => false],
    ['no merchant', { merchants: [], createdFrom: at(1), status: ['PENDING'] }, () => false],
    ['a provider', { provider: 'q' }, ({ attempt }) => attempt.provider === 'q'],
    ['a reference', { reference: 'same' }, ({ attempt }) => attempt.reference === 'same'],
    ['a reference at a provider', { reference: 'r-7', provider: 'q' }, ({ id }) => id === 'o-07'],
    ['a reference at another provider', { reference: 'r-7', provider: 'p' }, () => false],
    [
      'deadlines',
      { expiresFrom: at(20), expiresTo: at(25) },
      ({ expiresAt }) => expiresAt >= at(20) && expiresAt < at(25),
    ],
    ['a time', { createdFrom: at(1), createdTo: at(4) }, ({ createdAt }) => createdAt >= at(1) && createdAt < at(4)],
    [
      'all at once',
      { status: ['PENDING'], merchantId: 'b', provider: 'p', createdFrom: at(1), expiresTo: at(25) },
      ({ id }) => ['o-10'].includes(id),
    ],
  ])('can be narrowed to %s', async (_, filter, isWanted) => {
    const wanted = planned(isWanted);
    expect(await idsOf(filter)).toEqual(wanted);
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const { orders, next } = await shop.list.execute({ ...filter, limit: 1, cursor });
      paged.push(...orders.map(({ id }) => id));
      cursor = next ?? undefined;
    } while (cursor !== undefined);
    expect(paged).toEqual(wanted);
  });

  it('are not shifted by orders that are placed meanwhile, and go on behind an order that is gone', async () => {
    const { next } = await shop.list.execute({ limit: 4 });
    await shop.place.execute([newOrder({ id: 'new', merchantId: 'c', lines: [], paymentWindowMs: HOUR_MS })]);
    expect(await idsOf({ limit: 2, cursor: next ?? undefined })).toEqual(['o-07', 'o-06']);
    const gone = encodePosition({ createdAt: at(3), id: 'o-06a' });
    expect(await idsOf({ limit: 1, cursor: gone })).toEqual(['o-06']);
    await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET created_at = '2000-01-01' WHERE id = 'new'`);
  });

  it('have orders that are overdue handled in the background', async () => {
    await shop.place.execute([newOrder({ id: 'late', merchantId: 'late', lines: [] })]);
    shop.woken.splice(0);
    const { orders } = await shop.list.execute({ merchantId: 'late' });
    expect(orders).toMatchObject([{ id: 'late', expired: true, payable: false }]);
    expect(shop.woken).toEqual([{ kind: 'order.payment', key: 'late' }]);
  });

  it.each<[object, string]>([
    [{ limit: 0 }, 'limit must be an integer from 1 to 200'],
    [{ limit: 201 }, 'limit must be an integer from 1 to 200'],
    [{ cursor: 'x' }, 'cursor must be the `next` of the previous page'],
    [{ status: ['OPEN'] }, 'status.0 must be one of PENDING'],
    [{ createdFrom: 'yesterday' }, 'createdFrom must be a valid Date'],
    [{ sort: 'id' }, 'sort is not a known field'],
  ])('are refused for %j', async (page, problem) => {
    await expect(shop.list.execute(page as OrderPage)).rejects.toThrow(problem);
  });
});
