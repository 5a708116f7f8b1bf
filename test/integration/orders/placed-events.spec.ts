import { eventsOf, fill, newOrder, openShop, type Shop, stockOf } from './shop';

const HOUR_MS = 3_600_000;
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

describe('the event of a placed order', () => {
  let shop: Shop;

  beforeAll(async () => {
    shop = await openShop({ placedEvents: 'send', merchants: { quiet: { placedEvents: 'none' } } });
  });
  afterAll(() => shop.database.drop());

  const order = (merchantId = 'm') => newOrder({ merchantId, lines: [], paymentWindowMs: HOUR_MS });

  it('says what was placed, with the deadline that the database has computed', async () => {
    const placed = order();
    const by = { cause: 'command', actor: 'php', traceparent } as const;
    const [result] = await shop.place.execute([placed], { by });
    const view = result?.outcome === 'placed' ? result.order : undefined;
    const [event, ...more] = await eventsOf(shop, placed.id);
    expect(more).toEqual([]);
    expect(event).toEqual({
      routing_key: 'order.placed',
      body: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        type: 'order.placed',
        version: 1,
        occurredAt: view?.createdAt.toISOString(),
        orderId: placed.id,
        merchantId: 'm',
        orderVersion: 1,
        amount: 1_999,
        currency: 'EUR',
        expiresAt: view?.expiresAt.toISOString(),
        cause: 'command',
      },
    });
    const rows: unknown = await shop.dataSource.query(
      `SELECT id = (body->>'id')::uuid AS same, traceparent FROM order_timeout.outbox WHERE body->>'orderId' = $1`,
      [placed.id],
    );
    expect(rows).toEqual([{ same: true, traceparent }]);
  });

  it('is written once for a repeated order, and for each of many', async () => {
    const placed = order();
    await shop.place.execute([placed]);
    await shop.place.execute([placed]);
    const many = [order(), order(), placed];
    await shop.place.execute(many);
    for (const { id } of many) expect(await eventsOf(shop, id)).toHaveLength(1);
  });

  it('is gone with a transaction that rolls back, and with an order that is refused', async () => {
    const placed = order();
    const refused = newOrder({ lines: [{ sku: 'nowhere', quantity: 1, unitAmount: 1 }], paymentWindowMs: HOUR_MS });
    const undone = shop.dataSource.transaction(async (tx) => {
      await shop.place.execute([placed], { tx });
      throw new Error('the host changed its mind');
    });
    await expect(undone).rejects.toThrow('changed its mind');
    await shop.place.execute([refused, order()]);
    for (const { id } of [placed, refused]) expect(await eventsOf(shop, id)).toEqual([]);
  });

  it('is not written for a merchant that wants none', async () => {
    const placed = order('quiet');
    await shop.place.execute([placed, order()]);
    expect(await eventsOf(shop, placed.id)).toEqual([]);
  });

  it.each([
    ['CANCELLED', 'RELEASED', { onHand: 10, reserved: 0 }],
    ['PAID', 'COMMITTED', { onHand: 9, reserved: 0 }],
  ] as const)('leaves no stock reserved if a listener makes the order %s at once', async (status, state, stock) => {
    const sku = `pear-${status}`;
    await fill(shop, { [sku]: 10 });
    const placed = newOrder({ lines: [{ sku, quantity: 1, unitAmount: 1_999 }], paymentWindowMs: HOUR_MS });
    shop.listeners.join(['order.placed'], async ([event], tx) => {
      const { id: orderId } = placed;
      if (event && 'orderId' in event && event.orderId !== orderId) return;
      const payment = { orderId, provider: 'voucher', reference: sku, amount: 1_999, currency: 'EUR' };
      await (status === 'PAID' ? shop.markPaid.execute(payment, { tx }) : shop.cancel.execute({ orderId }, { tx }));
    });
    expect(await shop.place.execute([placed])).toMatchObject([{ outcome: 'placed' }]);
    expect((await shop.readOrder.execute(placed.id))?.status).toBe(status);
    expect(await shop.inventory.reservations(shop.dataSource, placed.id)).toEqual([{ sku, quantity: 1, state }]);
    expect(await stockOf(shop, sku)).toEqual(stock);
  });
});
