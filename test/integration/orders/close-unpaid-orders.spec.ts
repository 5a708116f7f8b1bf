import { randomUUID } from 'node:crypto';
import { isSchemaUnusable, nameOwnSchema } from '../../../src/database';
import { transition } from '../../../src/orders/model/transition';
import {
  dueOf,
  eventsOf,
  fill,
  newOrder,
  KEEPING,
  openShop,
  unmatchedOf,
  type Shop,
  settle,
  settleUntilDone,
  SCHEMA,
  stockOf,
} from './shop';

const attempt = (reference: string, more: object = {}) => ({ provider: 'fake', reference, ...more });
const soon = { paymentWindowMs: 60_000 };

describe('closing unpaid orders on PostgreSQL', () => {
  let shop: Shop;
  beforeAll(async () => {
    nameOwnSchema(SCHEMA);
    shop = await openShop({ ...KEEPING, reminderOffsetsMs: [] });
    await fill(shop, { apple: 100_000, pear: 100_000 });
  });
  afterAll(() => shop.database.drop());

  const statusOf = async (id: string) => (await shop.readOrder.execute(id))?.status;
  const historyOf = async (id: string) => (await shop.history.execute(id)).map((entry) => entry.to);
  /** Makes an order due without waiting: moves its deadline into the past by SQL. */
  const expire = (...ids: string[]) =>
    shop.dataSource.query(`UPDATE ${SCHEMA}.orders SET expires_at = now() - interval '1 second' WHERE id = ANY($1)`, [
      ids,
    ]);
  const placed = async (overrides: Parameters<typeof newOrder>[0] = {}) => {
    const order = newOrder(overrides);
    const [result] = await shop.place.execute([order]);
    expect(result?.outcome).toBe('placed');
    return order.id;
  };

  it('closes an order without attempts: stock released, history, one event', async () => {
    const before = await stockOf(shop, 'apple');
    const id = await placed();
    expect(await settle(shop, [id], 'sweep')).toEqual([{ type: 'done' }]);
    expect(await shop.readOrder.execute(id)).toMatchObject({
      status: 'CLOSED',
      version: 2,
      closedAt: expect.any(Date) as Date,
    });
    expect(await stockOf(shop, 'apple')).toEqual(before);
    expect(await shop.history.execute(id)).toMatchObject([
      { version: 1, from: null, to: 'PENDING', cause: 'api' },
      { version: 2, from: 'PENDING', to: 'CLOSED', cause: 'sweep', reason: 'expired' },
    ]);
    expect(await eventsOf(shop, id)).toMatchObject([
      { routing_key: 'order.closed', body: { version: 1, orderVersion: 2, reason: 'expired', amount: 1999 } },
    ]);
  });

  it.each(['orders', 'payment_attempt', 'reservation', 'inventory', 'refund', 'unmatched_payment'])(
    'decides nothing while row-level security hides rows of %s',
    async (table) => {
      const lines = [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }];
      const id = await placed({ paymentWindowMs: 0, lines, attempt: attempt(`hidden-${table}`) });
      const [role, sql] = [`hidden_${randomUUID().slice(0, 8)}`, (text: string) => shop.dataSource.query(text)];
      await sql(
        `CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${SCHEMA} TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA ${SCHEMA} TO ${role};
         GRANT ALL ON ALL SEQUENCES IN SCHEMA ${SCHEMA} TO ${role}`,
      );
      await sql(`ALTER TABLE ${SCHEMA}.${table} ENABLE ROW LEVEL SECURITY`);
      const settling = shop.dataSource.transaction(async (tx) => {
        await tx.query(`SET LOCAL ROLE ${role}`);
        return shop.closing.handleBatch([dueOf(id)], tx);
      });
      const failure: unknown = await settling.catch((error: unknown) => error);
      await sql(`ALTER TABLE ${SCHEMA}.${table} DISABLE ROW LEVEL SECURITY; DROP OWNED BY ${role}; DROP ROLE ${role}`);
      expect(String(failure)).toContain(`row-level security policy for table "${table}"`);
      expect(isSchemaUnusable(failure)).toBe(true);
      expect(await statusOf(id)).toBe('PENDING');
    },
  );

  it('ends the timeout of an order that does not exist', async () => {
    expect(await settle(shop, ['nobody'])).toEqual([{ type: 'done' }]);
  });

  it('does nothing on a repetition', async () => {
    const id = await placed();
    await settle(shop, [id]);
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await historyOf(id)).toEqual(['PENDING', 'CLOSED']);
    expect(await eventsOf(shop, id)).toHaveLength(1);
  });

  it('reschedules to the new deadline plus grace if the order was extended', async () => {
    const id = await placed({ ...soon, graceMs: 5_000 });
    const view = await shop.readOrder.execute(id);
    expect(await settle(shop, [id])).toEqual([
      { type: 'reschedule', dueAt: new Date((view?.expiresAt.getTime() ?? 0) + 5_000) },
    ]);
  });

  it('is done for an order that was deleted, and for one without auto-close', async () => {
    const id = await placed({ autoClose: false });
    expect(await settle(shop, ['never-was', id])).toEqual([{ type: 'done' }, { type: 'done' }]);
    expect(await statusOf(id)).toBe('PENDING');
  });

  it('skips an order that is locked, and closes the others of the batch', async () => {
    const [busy, free] = [await placed(), await placed()];
    await shop.dataSource.transaction(async (tx) => {
      await tx.query(`SELECT 1 FROM ${SCHEMA}.orders WHERE id = $1 FOR UPDATE`, [busy]);
      const outcomes = await settle(shop, [busy, free]);
      expect(outcomes).toMatchObject([
        { type: 'retry', counted: false, reason: 'the order row is locked' },
        { type: 'done' },
      ]);
    });
    expect([await statusOf(busy), await statusOf(free)]).toEqual(['PENDING', 'CLOSED']);
  });

  it('commits CLOSING before the look-up, closes the attempt at the provider, then the order', async () => {
    const id = await placed({ ...soon, attempt: attempt('close-me') });
    await expire(id);
    let seen: unknown;
    shop.provider.answerQuery('close-me', async () => {
      seen ??= { status: await statusOf(id), transactions: await shop.provider.openTransactions() };
      return { type: shop.provider.calls.includes('close close-me') ? 'CLOSED' : 'OPEN' };
    });
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(seen).toEqual({ status: 'CLOSING', transactions: 0 });
    expect(shop.provider.calls.filter((call) => call.endsWith('close-me'))).toEqual([
      'query close-me',
      'close close-me',
      'query close-me',
    ]);
    expect(await historyOf(id)).toEqual(['PENDING', 'CLOSING', 'CLOSED']);
    expect((await eventsOf(shop, id)).map((event) => event.routing_key)).toEqual(['order.closing', 'order.closed']);
    expect((await shop.readOrder.execute(id))?.attempts).toMatchObject([{ reference: 'close-me', status: 'CLOSED' }]);
  });

  it('marks an order paid if the provider says so, with the evidence, and sells the stock', async () => {
    const before = await stockOf(shop, 'pear');
    const id = await placed({
      ...soon,
      attempt: attempt('quiet'),
      lines: [{ sku: 'pear', quantity: 3, unitAmount: 1 }],
    });
    await expire(id);
    shop.provider.paid('quiet');
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await stockOf(shop, 'pear')).toEqual({ onHand: before.onHand - 3, reserved: before.reserved });
    const [, , paid] = await shop.history.execute(id);
    expect(paid).toMatchObject({
      from: 'CLOSING',
      to: 'PAID',
      reason: 'compensated',
      evidence: { attempts: [{ reference: 'quiet', type: 'PAID', amount: '1999', currency: 'EUR' }] },
    });
  });

  it('never closes on UNKNOWN, and closes as soon as the provider gives a clear answer', async () => {
    const id = await placed({ ...soon, attempt: attempt('down') });
    await expire(id);
    shop.provider.answerQuery('down', { type: 'UNKNOWN', reason: 'connection refused' });
    const [waiting] = await settle(shop, [id]);
    expect(waiting).toMatchObject({ type: 'retry', counted: false });
    expect(waiting?.type === 'retry' && waiting.afterMs).toBeLessThanOrEqual(6_000);
    expect(await statusOf(id)).toBe('CLOSING');
    shop.provider.answerQuery('down', { type: 'CLOSED' });
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('CLOSED');
  });

  it('treats a provider that throws like one that gives no answer', async () => {
    const id = await placed({ ...soon, attempt: attempt('throws') });
    await expire(id);
    shop.provider.answerQuery('throws', () => Promise.reject(new Error('socket hang up')));
    expect(await settle(shop, [id])).toMatchObject([
      { type: 'retry', counted: false, reason: expect.stringContaining('socket hang up') as string },
    ]);
  });

  it('closes an attempt that was never handed over once the provider says that it does not know it', async () => {
    const id = await placed({ ...soon, attempt: attempt('shelf', { handedOver: false }) });
    await expire(id);
    shop.provider.answerQuery('shelf', { type: 'UNKNOWN', reason: 'down' });
    await settle(shop, [id]);
    expect((await shop.readOrder.execute(id))?.attempts).toMatchObject([{ status: 'CREATED' }]);
    shop.provider.answerQuery('shelf', { type: 'NOT_FOUND' });
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
  });

  it('remembers that a provider knew an attempt that counted as not handed over', async () => {
    const id = await placed({ ...soon, attempt: attempt('leaked', { handedOver: false }) });
    await expire(id);
    shop.provider.answerQuery('leaked', () => {
      const isFirst = shop.provider.calls.filter((call) => call === 'query leaked').length === 1;
      return isFirst ? { type: 'OPEN' } : { type: 'UNKNOWN', reason: 'down' };
    });
    shop.provider.answerClose('leaked', { type: 'UNKNOWN', reason: 'down' });
    await settle(shop, [id]);
    shop.provider.answerQuery('leaked', { type: 'NOT_FOUND' });
    expect(await settle(shop, [id])).toMatchObject([{ type: 'retry', counted: false }]);
    expect(await statusOf(id)).toBe('CLOSING');
  });

  it('accepts a time limit while it is closing, and closes after that limit', async () => {
    const id = await placed({ ...soon, attempt: attempt('limitless') });
    await expire(id);
    shop.provider.answerQuery('limitless', { type: 'NOT_FOUND' });
    expect(await settle(shop, [id])).toMatchObject([{ type: 'retry', counted: false }]);
    const limited = { ...attempt('limitless'), timeExpire: new Date(Date.now() - 61_000) };
    expect(await shop.register.execute({ orderId: id, ...limited })).toMatchObject({ outcome: 'replayed' });
    expect(await shop.register.execute({ orderId: id, ...attempt('another') })).toMatchObject({
      code: 'ORDER_NOT_PAYABLE',
    });
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('CLOSED');
  });

  it('ends CANCELLED if it is canceled while it is closing', async () => {
    const id = await placed({ ...soon, attempt: attempt('too-slow') });
    await expire(id);
    shop.provider.answerQuery('too-slow', { type: 'UNKNOWN', reason: 'down' });
    await settle(shop, [id]);
    expect(await shop.cancel.execute({ orderId: id })).toMatchObject({ outcome: 'cancelling' });
    expect(await shop.cancel.execute({ orderId: id })).toMatchObject({ outcome: 'cancelling' });
    shop.provider.answerQuery('too-slow', { type: 'CLOSED' });
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await historyOf(id)).toEqual(['PENDING', 'CLOSING', 'CLOSING', 'CANCELLED']);
  });

  it('counts runs, and names the remedy, if the provider is not configured in this process', async () => {
    const id = await placed({ ...soon, attempt: { provider: 'nopay', reference: 'x' } });
    await expire(id);
    expect(await settle(shop, [id])).toMatchObject([
      { type: 'retry', counted: true, reason: expect.stringContaining('no payment provider "nopay"') as string },
    ]);
    expect(await statusOf(id)).toBe('CLOSING');
  });

  it('parks an order that was paid in part, records the money, and keeps the stock reserved', async () => {
    const id = await placed({ ...soon, attempt: attempt('short') });
    await expire(id);
    shop.provider.paid('short', 1_000n);
    expect(await settle(shop, [id])).toMatchObject([
      { type: 'park', reason: expect.stringContaining('paid 1000 EUR of 1999 EUR, in minor units') as string },
    ]);
    expect(await statusOf(id)).toBe('CLOSING');
    expect(await unmatchedOf(shop, id)).toMatchObject([{ reason: 'amount-mismatch', amount: '1000' }]);
  });

  it('pays the order with one attempt, and closes the other one', async () => {
    const id = await placed({ ...soon, attempt: attempt('two-a') });
    await shop.register.execute({ orderId: id, ...attempt('two-b') });
    await expire(id);
    shop.provider.paid('two-b');
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await shop.readOrder.execute(id)).toMatchObject({
      status: 'PAID',
      attempts: [
        { reference: 'two-a', status: 'CLOSED' },
        { reference: 'two-b', status: 'PAID' },
      ],
    });
  });

  it('keeps the second of two payments as surplus', async () => {
    const id = await placed({ ...soon, attempt: attempt('dup-a') });
    await shop.register.execute({ orderId: id, ...attempt('dup-b') });
    await expire(id);
    shop.provider.paid('dup-a');
    shop.provider.paid('dup-b');
    expect(await settle(shop, [id])).toEqual([{ type: 'done' }]);
    expect(await statusOf(id)).toBe('PAID');
    expect(await unmatchedOf(shop, id)).toMatchObject([{ reason: 'surplus', amount: '1999' }]);
  });

  it('writes nothing for an order that has changed since the decision', async () => {
    const id = await placed(soon);
    const { orders, now } = await shop.dataSource.transaction((tx) => shop.store.lock(tx, [id], 'wait'));
    const order = orders.get(id);
    if (!order) throw new Error('the order is missing');
    await shop.extend.execute({ orderId: id, byMs: 1_000 });
    const step = transition(order, 'CLOSED', { by: { cause: 'message' }, now });
    expect([...(await shop.dataSource.transaction((tx) => shop.store.apply(tx, [step])))]).toEqual([]);
    expect(await historyOf(id)).toEqual(['PENDING', 'PENDING']);
    expect(await eventsOf(shop, id)).toEqual([]);
  });

  it('writes nothing if the money rule is violated at the time of closing', async () => {
    const id = await placed();
    const { orders, now } = await shop.dataSource.transaction((tx) => shop.store.lock(tx, [id], 'wait'));
    const order = orders.get(id);
    // A session without the lock inserts an attempt after the decision.
    await shop.dataSource.query(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
       VALUES ('fake', 'smuggled', $1, 'OPEN', 1999, 'EUR')`,
      [id],
    );
    if (!order) throw new Error('the order is missing');
    const step = transition(order, 'CLOSED', { by: { cause: 'message' }, now });
    const moved = await shop.dataSource.transaction((tx) => shop.store.apply(tx, [step]));
    expect([...moved]).toEqual([]);
    expect(await historyOf(id)).toEqual(['PENDING']);
    expect(await eventsOf(shop, id)).toEqual([]);
  });

  it('closes each order once and releases its stock once if two batches have the same orders', async () => {
    const before = await stockOf(shop, 'apple');
    const ids = await Promise.all(
      Array.from({ length: 60 }, () =>
        placed({
          lines: [
            { sku: 'apple', quantity: 2, unitAmount: 1 },
            { sku: 'pear', quantity: 1, unitAmount: 1 },
          ],
        }),
      ),
    );
    const pear = await stockOf(shop, 'pear');
    await Promise.all([
      settleUntilDone(shop, ids),
      settleUntilDone(shop, [...ids].reverse()),
      settleUntilDone(shop, ids),
    ]);
    const rows = await shop.dataSource.query<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM ${SCHEMA}.order_history WHERE order_id = ANY($1) AND to_status = 'CLOSED' GROUP BY order_id`,
      [ids],
    );
    expect(rows).toHaveLength(60);
    expect(rows.every((row) => row.n === 1)).toBe(true);
    expect(await stockOf(shop, 'apple')).toEqual(before);
    expect((await stockOf(shop, 'pear')).reserved).toBe(pear.reserved - 60);
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it('rejects changes and deletions of history', async () => {
    for (const sql of [`UPDATE ${SCHEMA}.order_history SET cause = 'api'`, `DELETE FROM ${SCHEMA}.order_history`]) {
      await expect(shop.dataSource.query(sql)).rejects.toThrow('append-only');
    }
  });
});
