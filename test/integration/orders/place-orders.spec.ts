import { fill, newOrder, openShop, type Shop, SCHEMA, stockOf, timeoutsOf } from './shop';

const soon = { paymentWindowMs: 600_000 };

describe('placing orders on PostgreSQL', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({
      paymentWindowMs: 1_800_000,
      maxPaymentWindowMs: 3_600_000,
      graceMsByProvider: { slow: 9_000 },
      merchants: { m1: { paymentWindowMs: 900_000, graceMs: 2_000, reminderOffsetsMs: [60_000] } },
    });
    await fill(shop, { apple: 100_000 });
  });
  afterAll(() => shop.database.drop());

  const countOf = async (table: string, id: string) => {
    const column = table === 'orders' ? 'id' : 'order_id';
    const [row] = await shop.dataSource.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM ${SCHEMA}.${table} WHERE ${column} = $1`,
      [id],
    );
    return row?.n;
  };

  it('writes order, lines, stock, history, deadline, and reminder, and returns the order', async () => {
    const before = await stockOf(shop, 'apple');
    const order = newOrder({ ...soon, metadata: { cart: 7 }, attempt: { provider: 'fake', reference: 'first' } });
    const [result] = await shop.place.execute([order], { by: { cause: 'command', actor: 'shop\0-1' } });
    const stored = await shop.readOrder.execute(order.id);
    expect(result).toEqual({ outcome: 'placed', id: order.id, order: stored });
    expect(stored).toMatchObject({
      status: 'PENDING',
      version: 1,
      amount: 1999,
      expired: false,
      payable: true,
      metadata: { cart: 7 },
      lines: [{ sku: 'apple', quantity: 1, unitAmount: 1999 }],
      attempts: [{ provider: 'fake', reference: 'first', status: 'OPEN', amount: 1999 }],
    });
    expect(await stockOf(shop, 'apple')).toEqual({ ...before, reserved: before.reserved + 1 });
    const expiresAt = stored?.expiresAt.getTime() ?? 0;
    expect(expiresAt - (stored?.createdAt.getTime() ?? 0)).toBe(600_000);
    expect(await timeoutsOf(shop, order.id)).toEqual([
      { kind: 'order.payment', key: order.id, due_at: new Date(expiresAt) },
      { kind: 'order.reminder', key: `${order.id}:300000`, due_at: new Date(expiresAt - 300_000) },
    ]);
    expect(await shop.history.execute(order.id)).toMatchObject([{ version: 1, cause: 'command', actor: 'shop-1' }]);
  });

  it('needs five round trips for one order', async () => {
    const order = newOrder(soon);
    const runner = shop.dataSource.createQueryRunner();
    const query = jest.spyOn(Object.getPrototypeOf(runner) as { query(sql: string): Promise<unknown> }, 'query');
    await shop.place.execute([order]);
    const statements = query.mock.calls.map(([sql]) => sql.trim().split(/\s/)[0]);
    query.mockRestore();
    await runner.release();
    // The last one is a savepoint and COMMIT in one message.
    expect(statements).toEqual(['START', 'WITH', 'WITH', 'WITH', 'SAVEPOINT']);
  });

  it('makes the text of a batch before its transaction begins, and lets that pause longer for many lines', async () => {
    const lines = Array.from({ length: 100 }, () => ({ sku: 'apple', quantity: 1, unitAmount: 1 }));
    const orders = Array.from({ length: 20 }, () => newOrder({ ...soon, lines }));
    const runner = shop.dataSource.createQueryRunner();
    const query = jest.spyOn(Object.getPrototypeOf(runner) as { query(sql: string): Promise<unknown> }, 'query');
    const stringify = jest.spyOn(JSON, 'stringify');
    await shop.place.execute(orders);
    const isBatch = (value: unknown): boolean => Array.isArray(value) && value.length >= orders.length;
    const madeAt = stringify.mock.invocationCallOrder.filter((_, call) => isBatch(stringify.mock.calls[call]?.[0]));
    const [begin] = query.mock.calls.map(([sql]) => sql);
    const [begunAt] = query.mock.invocationCallOrder;
    query.mockRestore();
    stringify.mockRestore();
    await runner.release();
    expect(madeAt.filter((at) => at < (begunAt ?? 0))).toHaveLength(2);
    expect(madeAt).toHaveLength(2);
    expect(begin).toContain('SET LOCAL idle_in_transaction_session_timeout = 5200');
  });

  it('takes window, grace, and reminders from the order, then its merchant, then the global policy', async () => {
    const plain = newOrder({ paymentWindowMs: undefined });
    const merchant = newOrder({ paymentWindowMs: undefined, merchantId: 'm1' });
    const own = newOrder({ ...soon, merchantId: 'm1', graceMs: 1, reminderOffsetsMs: [] });
    const slow = newOrder({ ...soon, attempt: { provider: 'slow', reference: 's-1' } });
    await shop.place.execute([plain, merchant, own, slow]);
    const windowAndGrace = async (id: string) => {
      const [row] = await shop.dataSource.query<{ window: number; grace: number; reminders: string[] }[]>(
        `SELECT (extract(epoch FROM expires_at - created_at) * 1000)::int AS window, grace_ms AS grace,
                reminder_offsets_ms AS reminders FROM ${SCHEMA}.orders WHERE id = $1`,
        [id],
      );
      return row;
    };
    expect(await windowAndGrace(plain.id)).toEqual({ window: 1_800_000, grace: 0, reminders: ['300000'] });
    expect(await windowAndGrace(merchant.id)).toEqual({ window: 900_000, grace: 2_000, reminders: ['60000'] });
    expect(await windowAndGrace(own.id)).toEqual({ window: 600_000, grace: 1, reminders: [] });
    expect(await windowAndGrace(slow.id)).toMatchObject({ grace: 9_000 });
  });

  it('skips a reminder whose time is before the order', async () => {
    const order = newOrder({ paymentWindowMs: 1_000 });
    await shop.place.execute([order]);
    expect((await timeoutsOf(shop, order.id)).map((timeout) => timeout.kind)).toEqual(['order.payment']);
  });

  it('reserves nothing for an order without lines, absent or empty, which are the same request', async () => {
    const order = newOrder({ ...soon, lines: undefined });
    expect(await shop.place.execute([order])).toMatchObject([{ outcome: 'placed', order: { lines: [] } }]);
    expect(await shop.place.execute([{ ...order, lines: [] }])).toMatchObject([{ outcome: 'replayed' }]);
    expect(await countOf('order_line', order.id)).toBe(0);
  });

  it('replays the same request, and rejects another one with the same id', async () => {
    const order = newOrder(soon);
    const before = await stockOf(shop, 'apple');
    await shop.place.execute([order]);
    expect(await shop.place.execute([{ ...order, lines: [...(order.lines ?? [])] }])).toMatchObject([
      { outcome: 'replayed' },
    ]);
    expect(await shop.place.execute([{ ...order, amount: 2_000 }])).toMatchObject([
      { outcome: 'rejected', code: 'ORDER_EXISTS' },
    ]);
    expect((await stockOf(shop, 'apple')).reserved).toBe(before.reserved + 1);
    expect(await countOf('order_line', order.id)).toBe(1);
  });

  it('places once if the same request comes ten times at the same time', async () => {
    const order = newOrder({ ...soon, idempotencyKey: 'ten-times' });
    const results = await Promise.all(Array.from({ length: 10 }, () => shop.place.execute([order])));
    const outcomes = results.flat().map((result) => result.outcome);
    expect(outcomes.filter((outcome) => outcome === 'placed')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'replayed')).toHaveLength(9);
    expect(await countOf('reservation', order.id)).toBe(1);
  });

  it('rejects an idempotency key with other content, and leaves no trace of it', async () => {
    const first = newOrder({ ...soon, idempotencyKey: 'key-1' });
    const second = newOrder({ ...soon, idempotencyKey: 'key-1' });
    const other = newOrder({ ...soon, idempotencyKey: 'key-1', merchantId: 'm1' });
    await shop.place.execute([first]);
    expect(await shop.place.execute([second, other])).toMatchObject([
      { outcome: 'rejected', code: 'IDEMPOTENCY_KEY_REUSED' },
      { outcome: 'placed' },
    ]);
    expect(await countOf('orders', second.id)).toBe(0);
  });

  it('rejects the second of two orders with one idempotency key in one request', async () => {
    const [first, second] = [1, 2].map(() => newOrder({ ...soon, idempotencyKey: 'shared' }));
    if (!first || !second) throw new Error('unreachable');
    expect(await shop.place.execute([first, second, first])).toMatchObject([
      { outcome: 'placed' },
      { outcome: 'rejected', id: second.id, code: 'IDEMPOTENCY_KEY_REUSED' },
      { outcome: 'replayed' },
    ]);
    expect(await countOf('orders', second.id)).toBe(0);
  });

  it('keeps the idempotency key of a rejected order usable', async () => {
    const greedy = newOrder({
      ...soon,
      idempotencyKey: 'again',
      lines: [{ sku: 'late-stock', quantity: 1, unitAmount: 1 }],
    });
    expect(await shop.place.execute([greedy])).toMatchObject([{ code: 'UNKNOWN_SKU', skus: ['late-stock'] }]);
    await fill(shop, { 'late-stock': 1 });
    expect(await shop.place.execute([greedy])).toMatchObject([{ outcome: 'placed' }]);
  });

  it('rejects an order that lacks stock, names the shortage, and writes nothing', async () => {
    await fill(shop, { rare: 1 });
    const order = newOrder({ ...soon, lines: [{ sku: 'rare', quantity: 2, unitAmount: 1 }] });
    expect(await shop.place.execute([order])).toEqual([
      {
        outcome: 'rejected',
        id: order.id,
        code: 'OUT_OF_STOCK',
        shortages: [{ sku: 'rare', wanted: 2, available: 1 }],
      },
    ]);
    expect([await countOf('orders', order.id), await countOf('order_history', order.id)]).toEqual([0, 0]);
    expect(await timeoutsOf(shop, order.id)).toEqual([]);
  });

  it('serves a batch in order if stock is insufficient for all', async () => {
    await fill(shop, { few: 5 });
    const orders = [3, 3, 1, 1, 1].map((quantity) =>
      newOrder({ ...soon, lines: [{ sku: 'few', quantity, unitAmount: 1 }] }),
    );
    const bad = newOrder({ ...soon, lines: [{ sku: 'no-such', quantity: 1, unitAmount: 1 }] });
    const results = await shop.place.execute([...orders, bad]);
    expect(results.map((result) => (result.outcome === 'rejected' ? result.code : result.outcome))).toEqual([
      'placed',
      'OUT_OF_STOCK',
      'placed',
      'placed',
      'OUT_OF_STOCK',
      'UNKNOWN_SKU',
    ]);
    expect(await stockOf(shop, 'few')).toEqual({ onHand: 5, reserved: 5 });
  });

  it('places a thousand orders in one request', async () => {
    const orders = Array.from({ length: 1_000 }, () => newOrder(soon));
    const results = await shop.place.execute(orders);
    expect(results.every((result) => result.outcome === 'placed')).toBe(true);
    expect(results.map((result) => result.id)).toEqual(orders.map((order) => order.id));
  });

  it('returns results for repetitions within one request', async () => {
    const order = newOrder(soon);
    expect(await shop.place.execute([order, order, { ...order, amount: 1 }])).toMatchObject([
      { outcome: 'placed' },
      { outcome: 'replayed' },
      { outcome: 'rejected', code: 'ORDER_EXISTS' },
    ]);
  });

  it('rejects a payment window outside the limits, relative or absolute', async () => {
    const tooLong = newOrder({ paymentWindowMs: 3_600_001 });
    const tooFar = newOrder({ paymentWindowMs: undefined, expiresAt: new Date(Date.now() + 7_200_000) });
    for (const order of [tooLong, tooFar]) {
      expect(await shop.place.execute([order])).toMatchObject([
        { code: 'PAYMENT_WINDOW_OUT_OF_RANGE', minMs: 0, maxMs: 3_600_000 },
      ]);
    }
  });

  it('rejects a first attempt that another order has', async () => {
    const attempt = { provider: 'fake', reference: 'taken' };
    await shop.place.execute([newOrder({ ...soon, attempt })]);
    const second = newOrder({ ...soon, attempt });
    expect(await shop.place.execute([second])).toMatchObject([{ code: 'ATTEMPT_EXISTS' }]);
    expect(await countOf('orders', second.id)).toBe(0);
  });

  it("runs in the caller's transaction, including rejections", async () => {
    const kept = newOrder(soon);
    const refused = newOrder({ ...soon, lines: [{ sku: 'no-such', quantity: 1, unitAmount: 1 }] });
    await expect(
      shop.dataSource.transaction(async (tx) => {
        const results = await shop.place.execute([refused, kept], { tx });
        expect(results).toMatchObject([{ outcome: 'rejected' }, { outcome: 'placed' }]);
        throw new Error('the host changed its mind');
      }),
    ).rejects.toThrow('changed its mind');
    expect(await shop.readOrder.execute(kept.id)).toBeUndefined();
  });

  it('never oversells with concurrent bulk and single orders', async () => {
    await fill(shop, { contested: 50 });
    const line = { sku: 'contested', quantity: 1, unitAmount: 1 };
    const bulks = Array.from({ length: 4 }, () =>
      Array.from({ length: 20 }, () => newOrder({ ...soon, lines: [line] })),
    );
    const singles = Array.from({ length: 40 }, () => [newOrder({ ...soon, lines: [line] })]);
    const results = (await Promise.all([...bulks, ...singles].map((batch) => shop.place.execute(batch)))).flat();
    expect(results.filter((result) => result.outcome === 'placed')).toHaveLength(50);
    expect(await stockOf(shop, 'contested')).toEqual({ onHand: 50, reserved: 50 });
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });
});
