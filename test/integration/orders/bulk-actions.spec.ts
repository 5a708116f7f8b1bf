import { type BulkExtension, type BulkRequest, type BulkResult } from '../../../src/orders';
import { eventsOf, newOrder, openShop, SCHEMA, type Shop } from './shop';

const HOUR_MS = 3_600_000;
const by = { actor: 'operator-1' };

describe('actions on many orders', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [], maxPaymentWindowMs: 24 * HOUR_MS });
  });
  afterAll(() => shop.database.drop());

  let counter = 0;
  /** Places orders of a merchant of their own. */
  async function place(count: number, overrides: object = {}): Promise<{ merchantId: string; ids: string[] }> {
    const merchantId = `m-${++counter}`;
    const ids = Array.from({ length: count }, (_, n) => `${merchantId}-${n}`);
    const orders = ids.map((id) => newOrder({ id, merchantId, lines: [], paymentWindowMs: HOUR_MS, ...overrides }));
    await shop.place.execute(orders);
    return { merchantId, ids };
  }
  const orderOf = async (id: string) => shop.readOrder.execute(id);
  const rowsOf = (merchantId: string): Promise<unknown> =>
    shop.dataSource.query(
      `SELECT o.*, (SELECT json_agg(t.* ORDER BY t.kind) FROM ${SCHEMA}.timeout t WHERE t.key = o.id) AS timeouts,
              (SELECT json_agg(h.* ORDER BY h.version) FROM ${SCHEMA}.order_history h WHERE h.order_id = o.id) AS history
         FROM ${SCHEMA}.orders o WHERE o.merchant_id = $1 ORDER BY o.id`,
      [merchantId],
    );

  const extension = (merchantId: string, more: Partial<BulkExtension> = {}): BulkExtension => ({
    actionId: `action-${merchantId}`,
    filter: { merchantId },
    reason: 'provider outage',
    byMs: 1_800_000,
    ...more,
  });

  it('extend the orders of a filter, each with its history', async () => {
    const { merchantId, ids } = await place(5);
    const before = await orderOf(ids[0] ?? '');
    const result = await shop.bulk.extend(extension(merchantId), { by });
    expect(result).toMatchObject({ dryRun: false, count: 5, outcomes: { extended: 5 }, next: null });
    const after = await orderOf(ids[0] ?? '');
    expect(Number(after?.expiresAt) - Number(before?.expiresAt)).toBe(1_800_000);
    const history = await shop.history.execute(ids[0] ?? '');
    expect(history.at(-1)).toMatchObject({
      cause: 'operator',
      actor: 'operator-1',
      reason: 'provider outage',
      evidence: { actionId: `action-${merchantId}` },
    });
  });

  it('extend an order once, however often a call is repeated, and again for another action', async () => {
    const { merchantId, ids } = await place(3);
    await shop.bulk.extend(extension(merchantId), { by });
    const once = await rowsOf(merchantId);
    expect((await shop.bulk.extend(extension(merchantId), { by })).outcomes).toEqual({ 'already-extended': 3 });
    expect(await rowsOf(merchantId)).toEqual(once);
    const calls = [1, 2, 3].map(() => shop.bulk.extend(extension(merchantId, { actionId: 'other' }), { by }));
    const outcomes = (await Promise.all(calls)).map((result) => result.outcomes['extended'] ?? 0);
    expect(outcomes.reduce((sum, count) => sum + count)).toBe(3);
    expect(await shop.history.execute(ids[0] ?? '')).toHaveLength(3);
  });

  it('say in a dry run what they would do, and change nothing', async () => {
    const { merchantId, ids } = await place(4);
    await shop.setAutoClose.execute({ orderId: ids[0] ?? '', enabled: false });
    await shop.cancel.execute({ orderId: ids[1] ?? '' });
    await shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = created_at + interval '24 h' WHERE id = $1`, [ids[2]]); // prettier-ignore
    const before = await rowsOf(merchantId);
    const request = extension(merchantId);
    const rehearsed = await shop.bulk.extend({ ...request, dryRun: true }, { by });
    expect(await rowsOf(merchantId)).toEqual(before);
    expect(rehearsed).toMatchObject({ dryRun: true, count: 3, outcomes: { extended: 2, DEADLINE_OUT_OF_RANGE: 1 } });
    expect(rehearsed.sample[0]).toEqual({ id: ids[2], outcome: 'DEADLINE_OUT_OF_RANGE' });
    const real = await shop.bulk.extend(request, { by });
    expect(real).toEqual({ ...rehearsed, dryRun: false });
  });

  it.each<['cancel' | 'close', string, string]>([
    ['cancel', 'CANCELLED', 'cancelled'],
    ['close', 'CLOSED', 'closed'],
  ])('%s open orders, with stock, history and event', async (action, status, outcome) => {
    await shop.inventory.setStock(shop.dataSource.manager, 'apple', 100);
    const { merchantId, ids } = await place(3, { lines: [{ sku: 'apple', quantity: 1, unitAmount: 1 }] });
    const request: BulkRequest = { filter: { merchantId }, reason: 'sale called off' };
    const before = await rowsOf(merchantId);
    expect((await shop.bulk[action]({ ...request, dryRun: true }, { by })).outcomes).toEqual({ [outcome]: 3 });
    expect(await rowsOf(merchantId)).toEqual(before);
    expect((await shop.bulk[action](request, { by })).outcomes).toEqual({ [outcome]: 3 });
    for (const id of ids) {
      expect((await orderOf(id))?.status).toBe(status);
      expect((await eventsOf(shop, id)).map(({ routing_key }) => routing_key)).toEqual([`order.${outcome}`]);
      const history = await shop.history.execute(id);
      expect(history.at(-1)).toMatchObject({ actor: 'operator-1', cause: 'operator', reason: 'sale called off' });
    }
    expect(await shop.bulk[action](request, { by })).toMatchObject({ count: 0, next: null });
  });

  it('handle a part in each call, and go on where they ended', async () => {
    const { merchantId } = await place(10);
    const results: BulkResult[] = [];
    let cursor: string | undefined;
    do {
      const result = await shop.bulk.extend(extension(merchantId, { limit: 4, cursor }), { by });
      results.push(result);
      cursor = result.next ?? undefined;
    } while (cursor !== undefined);
    expect(results.map(({ count, outcomes }) => [count, outcomes])).toEqual([
      [4, { extended: 4 }],
      [4, { extended: 4 }],
      [2, { extended: 2 }],
    ]);
  });

  it('reach the orders of one provider only, and of the merchants of the caller', async () => {
    const attempt = (provider: string) => ({ attempt: { provider, reference: 'r', merchantAccount: `${++counter}` } });
    const { merchantId } = await place(1, attempt('out'));
    await shop.place.execute([newOrder({ merchantId, lines: [], paymentWindowMs: HOUR_MS, ...attempt('fine') })]);
    const filter = { provider: 'out', merchants: [merchantId, 'nobody'] };
    expect(await shop.bulk.extend(extension(merchantId, { filter }), { by })).toMatchObject({ count: 1 });
  });

  it('count an order that a listener refuses, and change the others', async () => {
    const { merchantId, ids } = await place(3);
    shop.listeners.join(['order.cancelled'], ([event]) => {
      if (event?.orderId === ids[0]) throw new Error('not this one');
    });
    const result = await shop.bulk.cancel({ filter: { merchantId }, reason: 'closed down' }, { by });
    expect(result).toMatchObject({ outcomes: { cancelled: 2, FAILED: 1 }, next: null });
    expect(await orderOf(ids[0] ?? '')).toMatchObject({ status: 'PENDING' });
  });

  it('count an order that another session holds, and change the others', async () => {
    const { merchantId, ids } = await place(3);
    const runner = shop.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query(`SELECT 1 FROM ${SCHEMA}.orders WHERE id = $1 FOR UPDATE`, [ids[1]]);
    const result = await shop.bulk.extend(extension(merchantId), { by });
    expect(result).toMatchObject({
      outcomes: { extended: 2, BUSY: 1 },
      sample: [{ id: ids[1], outcome: 'BUSY' }, {}, {}],
    });
    await runner.rollbackTransaction();
    await runner.release();
    expect((await shop.bulk.extend(extension(merchantId), { by })).outcomes).toEqual({
      'already-extended': 2,
      extended: 1,
    });
  });

  it.each<[string, object, object | undefined, string]>([
    ['without a filter', { filter: {} }, { by }, 'filter must have at least one field'],
    [
      'for orders that have ended',
      { filter: { status: ['PAID'] } },
      { by },
      'filter.status.0 must be PENDING or CLOSING',
    ],
    ['without a reason', { reason: undefined }, { by }, 'reason is missing'],
    ['without an action id', { actionId: undefined }, { by }, 'actionId is missing'],
    ['with two deadlines', { expiresAt: new Date() }, { by }, 'give exactly one of expiresAt and byMs'],
    ['of more than a thousand', { limit: 1_001 }, { by }, 'limit must be an integer from 1 to 1000'],
    ['by nobody', {}, undefined, 'by.actor is missing'],
  ])('are refused %s', async (_, change, options, problem) => {
    const request = { ...extension('m'), ...change };
    await expect(shop.bulk.extend(request, options as { by: typeof by })).rejects.toThrow(problem);
  });
});
