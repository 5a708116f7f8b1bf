import { untilServed } from '../../support/engine';
import { dueOf, fill, KEEPING, newOrder, notified, openShop, type Shop, SCHEMA, settleUntilDone } from './shop';

const SKUS = ['s0', 's1', 's2', 's3', 's4'];
/** The server looks for a deadlock before our limit for locks (500 ms) ends it, so what is told of as one is one. */
const EXTRA = { options: '-c deadlock_timeout=100ms' };
const DEADLOCK = '40P01';
const TERMINAL = `to_status IN ('PAID', 'CLOSED', 'CANCELLED') AND from_status <> to_status`;

describe('concurrent operations on orders, on PostgreSQL', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop(
      {
        ...KEEPING,
        reminderOffsetsMs: [],
        merchants: { reviver: { latePayment: 'revive-if-stock' }, refunder: { latePayment: 'refund' } },
      },
      EXTRA,
    );
    await fill(shop, Object.fromEntries(SKUS.map((sku) => [sku, 10_000])));
  });
  afterAll(() => shop.database.drop());

  /** Shared SKUs in different orders of lines, which provoke deadlocks. */
  const placeMany = async (
    count: number,
    overrides: (index: number) => Parameters<typeof newOrder>[0] = () => ({}),
  ) => {
    const orders = Array.from({ length: count }, (_, index) => {
      const skus = [SKUS[index % 5], SKUS[(index * 3 + 1) % 5]];
      const lines = skus.map((sku = 's0') => ({ sku, quantity: 1 + (index % 3), unitAmount: 1 }));
      return newOrder({ lines, ...overrides(index) });
    });
    const results = await untilServed(() => shop.place.execute(orders));
    expect(results.every((result) => result.outcome === 'placed')).toBe(true);
    return orders.map((order) => order.id);
  };
  const pay = (orderId: string) => untilServed(() => notified(shop, orderId, `p-${orderId}`));
  const terminalRows = (ids: readonly string[]) =>
    shop.dataSource.query<{ order_id: string; to_status: string; n: number }[]>(
      `SELECT order_id, min(to_status) AS to_status, count(*)::int AS n FROM ${SCHEMA}.order_history
        WHERE order_id = ANY($1) AND ${TERMINAL} GROUP BY order_id`,
      [ids],
    );
  /** The state that every reservation must have, given the end of its order. */
  const wrongReservations = (ids: readonly string[]) =>
    shop.dataSource.query<unknown[]>(
      `SELECT o.id, o.status, r.state FROM ${SCHEMA}.orders o JOIN ${SCHEMA}.reservation r ON r.order_id = o.id
        WHERE o.id = ANY($1) AND r.state <> CASE o.status WHEN 'PAID' THEN 'COMMITTED' WHEN 'PENDING' THEN 'RESERVED'
                                             WHEN 'CLOSING' THEN 'RESERVED' ELSE 'RELEASED' END`,
      [ids],
    );
  const chunks = (ids: readonly string[], size: number) =>
    Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ids.slice(index * size, (index + 1) * size));

  it('lets exactly one of pay and close win each of 200 orders', async () => {
    const ids = await placeMany(200);
    const closing = chunks(ids, 25).map((chunk) => settleUntilDone(shop, chunk));
    const outcomes = await Promise.all(ids.map(pay));
    await Promise.all(closing);
    const rows = await terminalRows(ids);
    expect(rows).toHaveLength(200);
    expect(rows.filter((row) => row.n !== 1)).toEqual([]);
    const paid = outcomes.filter((result) => result.outcome === 'paid').length;
    expect(rows.filter((row) => row.to_status === 'PAID')).toHaveLength(paid);
    expect(outcomes.filter((result) => result.outcome === 'late')).toHaveLength(200 - paid);
    expect(await wrongReservations(ids)).toEqual([]);
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it.each([
    ['reviver', 'PAID'],
    ['refunder', 'REFUNDING'],
  ])('leaves no payment of the merchant %s unaccounted for, whichever side wins', async (merchantId, late) => {
    const ids = await placeMany(100, () => ({ merchantId }));
    const closing = chunks(ids, 25).map((chunk) => settleUntilDone(shop, chunk));
    const outcomes = await Promise.all(ids.map(pay));
    await Promise.all(closing);
    const expected = outcomes.map(({ outcome }) => (outcome === 'paid' ? 'PAID' : late));
    const views = await Promise.all(ids.map((id) => shop.readOrder.execute(id)));
    expect(views.map((view) => view?.status)).toEqual(expected);
    expect(await wrongReservations(ids)).toEqual([]);
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it('revives many orders while others are placed, paid, and closed, without a deadlock', async () => {
    const late = await placeMany(60, () => ({ merchantId: 'reviver', attempt: undefined }));
    for (const chunk of chunks(late, 30)) await settleUntilDone(shop, chunk);
    await shop.dataSource.query(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
       SELECT 'fake', 'w-' || id, id, 'CLOSED', 1999, 'EUR' FROM unnest($1::text[]) AS o(id)`,
      [late],
    );
    for (const id of late) shop.provider.paid(`w-${id}`);
    const signal = new AbortController().signal;
    const watched = await Promise.all(
      late.map(async (key) => {
        const due = { ...dueOf(key), kind: 'order.late-watch', payload: { since: new Date().toISOString() } };
        return { ...due, answer: await shop.watching.lookUp(due, signal) };
      }),
    );
    const others = await placeMany(60);
    await Promise.all([
      ...[0, 15, 30, 45].map((from) =>
        shop.dataSource.transaction((tx) => shop.watching.handleBatch(watched.slice(from, from + 15), tx)),
      ),
      ...others.slice(0, 30).map(pay),
      ...chunks(others.slice(30), 10).map((chunk) => settleUntilDone(shop, chunk)),
      placeMany(30),
    ]);
    expect(shop.failures).not.toContain(DEADLOCK);
    const views = await Promise.all(late.map((id) => shop.readOrder.execute(id)));
    expect(new Set(views.map((view) => view?.status))).toEqual(new Set(['PAID']));
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it('survives concurrent pay, cancel, extend, register, and close of orders that share SKUs, without a deadlock', async () => {
    const ids = await placeMany(150, (index) => (index % 2 === 0 ? { paymentWindowMs: 60_000 } : {}));
    const hands = ids.flatMap((id, index) => {
      const register = () => shop.register.execute({ orderId: id, provider: 'fake', reference: `r-${id}` });
      const all = [
        () => pay(id),
        () => shop.cancel.execute({ orderId: id }),
        () => shop.extend.execute({ orderId: id, byMs: 1_000 }),
        register,
      ];
      return [all[index % 4], all[(index + 1) % 4]].map((hand) => hand && untilServed<unknown>(hand));
    });
    const closing = [...chunks(ids, 30), ...chunks([...ids].reverse(), 40)].map((chunk) =>
      settleUntilDone(shop, chunk),
    );
    await Promise.all([...hands, ...closing]);
    expect(shop.failures).not.toContain(DEADLOCK);
    expect((await terminalRows(ids)).filter((row) => row.n !== 1)).toEqual([]);
    expect(await wrongReservations(ids)).toEqual([]);
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it('never closes an order with an attempt that was registered while the deadline was being handled', async () => {
    const ids = await placeMany(120, () => ({ paymentWindowMs: 60_000 }));
    const expire = `UPDATE ${SCHEMA}.orders SET expires_at = now() WHERE id = ANY($1)`;
    const registering = ids.map((id) =>
      shop.register.execute({ orderId: id, provider: 'stuck', reference: `stuck-${id}` }),
    );
    const closing = chunks(ids, 20).map(async (chunk) => {
      await shop.dataSource.query(expire, [chunk]);
      return settleUntilDone(shop, chunk, 3);
    });
    await Promise.all([...registering, ...closing]);
    const closedWithOpenAttempt = await shop.dataSource.query<unknown[]>(
      `SELECT o.id FROM ${SCHEMA}.orders o JOIN ${SCHEMA}.payment_attempt a ON a.order_id = o.id
        WHERE o.id = ANY($1) AND o.status IN ('CLOSED', 'CANCELLED') AND a.status <> 'CLOSED'`,
      [ids],
    );
    expect(closedWithOpenAttempt).toEqual([]);
  });

  it('closes and sells batches of orders that share many SKUs in any order, without a deadlock', async () => {
    const many = Array.from({ length: 40 }, (_, index) => `many-${index}`);
    await fill(shop, Object.fromEntries(many.map((sku) => [sku, 10_000])));
    const ids = await placeMany(480, (index) => ({
      lines: [0, 1, 2, 3].map((line) => {
        const sku = many[(index * (line + 3) + line * 11) % many.length] ?? '';
        return { sku, quantity: 1, unitAmount: 1 };
      }),
    }));
    const paying = ids.filter((_, index) => index % 4 === 0).map(pay);
    await Promise.all([...paying, ...chunks(ids, 12).map((chunk) => settleUntilDone(shop, chunk))]);
    expect(shop.failures).not.toContain(DEADLOCK);
    expect(await wrongReservations(ids)).toEqual([]);
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it('books each of ten reports of one payment once', async () => {
    const [id = ''] = await placeMany(1);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => pay(id)));
    expect(outcomes.map((result) => result.outcome).sort()).toEqual([...Array<string>(9).fill('already-paid'), 'paid']);
  });
});
