import { SystemClock } from '../../../src/clock';
import { orderMigrations } from '../../../src/orders';
import { type NewOrder } from '../../../src/orders/model/new-order';
import { type RetentionOptions } from '../../../src/orders/retention/purge';
import { fill, newOrder, openShop, purgeOf, SCHEMA, settle, settleUntilDone, type Shop } from './shop';

const DAY_MS = 86_400_000;
const FOREVER = { finishedOrdersMs: 0, idempotencyKeysMs: 0, settledMoneyMs: 0 };
const TABLES = ['orders', 'order_line', 'payment_attempt', 'order_history', 'reservation', 'refund'];

describe('purging data that finished long ago', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await openShop({ lateWatchOffsetsMs: [] });
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const purge = (keep: RetentionOptions) => purgeOf(shop, { ...FOREVER, ...keep });
  const purgeOrders = () => purge({ finishedOrdersMs: 10 * DAY_MS }).runOnce();
  const sql = <T>(text: string, ...parameters: unknown[]): Promise<T[]> => shop.dataSource.query(text, parameters);

  const rowsOf = async (id: string): Promise<Record<string, number>> => {
    const counts = TABLES.map((table) => {
      const column = table === 'orders' ? 'id' : 'order_id';
      return `(SELECT count(*)::int FROM ${SCHEMA}.${table} WHERE ${column} = $1) AS ${table}`;
    });
    const [row] = await sql<Record<string, number>>(`SELECT ${counts.join(', ')}`, id);
    return Object.fromEntries(Object.entries(row ?? {}).filter(([, count]) => count > 0));
  };
  const age = (id: string, days = 11): Promise<unknown> =>
    sql(`UPDATE ${SCHEMA}.orders SET updated_at = now() - $2 * interval '1 day' WHERE id = $1`, id, days);
  /** Sends all waiting messages. */
  const send = () => sql(`DELETE FROM ${SCHEMA}.outbox`);

  const place = async (overrides: Partial<NewOrder> = {}): Promise<NewOrder> => {
    const order = newOrder(overrides);
    await shop.place.execute([order]);
    return order;
  };
  /** An order that ended without payment long ago, with a closed attempt. */
  const closed = async (days?: number): Promise<string> => {
    const { id } = await place();
    await settleUntilDone(shop, [id]);
    await sql(`DELETE FROM ${SCHEMA}.timeout WHERE key = $1`, id);
    await sql(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency)
       VALUES ('fake', $1, $1, 'CLOSED', 1999, 'EUR')`,
      id,
    );
    await send();
    await age(id, days);
    return id;
  };

  it('deletes an order with lines, attempts, refunds, reservations, and history, and keeps stock and newer orders', async () => {
    const stock = await shop.inventory.read(shop.dataSource.manager, ['apple']);
    const [old, young] = [await closed(), await closed(9)];
    await sql(`UPDATE ${SCHEMA}.payment_attempt SET status = 'REFUNDED' WHERE order_id = $1`, old);
    await sql(
      `INSERT INTO ${SCHEMA}.refund (number, provider, reference, order_id, amount, currency, reason, status)
       VALUES (repeat('a', 32), 'fake', $1, $1, 1999, 'EUR', 'late', 'REFUNDED')`,
      old,
    );
    expect(await rowsOf(old)).toEqual({
      orders: 1,
      order_line: 1,
      payment_attempt: 1,
      order_history: 2,
      reservation: 1,
      refund: 1,
    });
    expect(await purgeOrders()).toEqual({ orders: 1, idempotencyKeys: 0, settledMoney: 0, hasMore: false });
    expect(await rowsOf(old)).toEqual({});
    expect(await rowsOf(young)).toMatchObject({ orders: 1, order_history: 2 });
    expect(await shop.inventory.read(shop.dataSource.manager, ['apple'])).toEqual(stock);
    expect(await shop.inventory.audit(shop.dataSource.manager)).toEqual([]);
  });

  it('deletes paid and canceled orders, too, and never an open one, however old', async () => {
    const paid = await place({ paymentWindowMs: 60_000, reminderOffsetsMs: [] });
    const money = { provider: 'fake', reference: `paid-${paid.id}`, amount: 1_999n, currency: 'EUR' };
    await shop.markPaid.execute({ orderId: paid.id, ...money });
    const cancelled = await place({ paymentWindowMs: 60_000 });
    await shop.cancel.execute({ orderId: cancelled.id });
    const pending = await place({ paymentWindowMs: 60_000 });
    const closing = await place({ attempt: { provider: 'fake', reference: 'open-one' } });
    await settle(shop, [closing.id]);
    await send();
    for (const { id } of [paid, cancelled, pending, closing]) await age(id);
    await purgeOrders();
    const left = await sql<{ id: string }>(`SELECT id FROM ${SCHEMA}.orders WHERE id = ANY($1)`, [
      paid.id,
      cancelled.id,
      pending.id,
      closing.id,
    ]);
    expect(left.map(({ id }) => id).sort()).toEqual([pending.id, closing.id].sort());
  });

  it('leaves the idempotency key, which keeps an old request from placing the order again', async () => {
    const order = await place({ idempotencyKey: 'sent-long-ago' });
    await shop.cancel.execute({ orderId: order.id });
    await sql(`DELETE FROM ${SCHEMA}.timeout WHERE key = $1`, order.id);
    await send();
    await age(order.id);
    await purgeOrders();
    const [result] = await shop.place.execute([order]);
    expect(result).toMatchObject({ outcome: 'rejected', code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(await rowsOf(order.id)).toEqual({});
    await sql(`DELETE FROM ${SCHEMA}.idempotency_key`);
  });

  const timeout = (kind: string, key: string, state = 'pending') =>
    `INSERT INTO ${SCHEMA}.timeout (kind, key, generation, due_at, next_attempt_at, state)
     VALUES ('${kind}', ${key}, 1, now() + interval '1 day', now() + interval '1 day', '${state}')`;
  const money = (handling: string, orderId = '$1') =>
    `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, order_id, amount, currency, evidence, reason, handling)
     VALUES (gen_random_uuid(), 'fake', $1, ${orderId}, 5, 'EUR', '{}', 'late', '${handling}')`;
  const refund = (status: string) =>
    `INSERT INTO ${SCHEMA}.refund (number, provider, reference, order_id, amount, currency, reason, status)
     VALUES (md5($1), 'fake', $1, $1, 5, 'EUR', 'late', '${status}')`;

  it.each<[string, string[]]>([
    ['a deadline', [timeout('order.payment', '$1')]],
    ['a watch', [timeout('order.late-watch', '$1')]],
    ['a reminder', [timeout('order.reminder', `$1 || ':300000'`)]],
    ['a parked timeout', [timeout('order.late-watch', '$1', 'parked')]],
    ['a refund in progress', [refund('PENDING')]],
    ['the timeout of a refund', [refund('REFUNDED'), timeout('payment.refund', 'md5($1)')]],
    ['an attempt that can take money', [`UPDATE ${SCHEMA}.payment_attempt SET status = 'UNKNOWN' WHERE order_id = $1`]],
    [
      'an attempt whose money is being refunded',
      [`UPDATE ${SCHEMA}.payment_attempt SET status = 'REFUNDING' WHERE order_id = $1`],
    ],
    ['money that is kept for a person', [money('kept')]],
    ['money that waits', [money('waiting')]],
    ['money of its attempt that names no order', [money('kept', 'NULL')]],
    ['goods that it holds', [`UPDATE ${SCHEMA}.reservation SET state = 'RESERVED' WHERE order_id = $1`]],
    [
      'an event that is not sent',
      [
        `INSERT INTO ${SCHEMA}.outbox (id, route, routing_key, body)
         VALUES (gen_random_uuid(), 'event', 'order.closed', jsonb_build_object('orderId', $1::text))`,
      ],
    ],
  ])('keeps an order with %s', async (_, statements) => {
    const id = await closed();
    for (const statement of statements) await sql(statement, id);
    const before = await rowsOf(id);
    await purgeOrders();
    expect(await rowsOf(id)).toEqual(before);
    for (const table of ['timeout', 'outbox', 'unmatched_payment', 'reservation', 'refund'])
      await sql(`DELETE FROM ${SCHEMA}.${table}`);
    await sql(`UPDATE ${SCHEMA}.payment_attempt SET status = 'CLOSED'`);
    expect((await purgeOrders()).orders).toBeGreaterThan(0);
    expect(await rowsOf(id)).toEqual({});
  });

  it('skips an order that another session has locked', async () => {
    const id = await closed();
    const other = shop.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT 1 FROM ${SCHEMA}.orders WHERE id = $1 FOR NO KEY UPDATE`, [id]);
    expect((await purgeOrders()).orders).toBe(0);
    await other.rollbackTransaction();
    await other.release();
    expect((await purgeOrders()).orders).toBe(1);
  });

  it('is shared by several instances without an error', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 30; n++) ids.push(await closed());
    const runs = await Promise.all([1, 2, 3, 4].map(() => purgeOrders()));
    const rest = await purgeOrders();
    expect([...runs, rest].reduce((sum, { orders }) => sum + orders, 0)).toBe(30);
    expect(shop.failures).toEqual([]);
    expect(await sql(`SELECT 1 FROM ${SCHEMA}.order_history WHERE order_id = ANY($1)`, ids)).toEqual([]);
  });

  it('keeps the history append-only for all other statements', async () => {
    const id = await closed();
    const table = `${SCHEMA}.order_history`;
    const forbidden = [
      `DELETE FROM ${table}`,
      `DELETE FROM ${table} WHERE order_id = '${id}'`,
      `UPDATE ${table} SET evidence = NULL WHERE order_id = '${id}'`,
      `UPDATE ${table} SET to_status = 'PAID' WHERE order_id = '${id}'`,
      `TRUNCATE ${table}`,
    ];
    for (const statement of forbidden) await expect(sql(statement)).rejects.toThrow('append-only');
    shop.failures.length = 0;
  });

  it('purges settled money, and never open money', async () => {
    const id = await closed();
    const insert = (reference: string, handling: string) =>
      sql(
        `INSERT INTO ${SCHEMA}.unmatched_payment
                (id, provider, reference, amount, currency, evidence, reason, handling, created_at)
         VALUES (gen_random_uuid(), 'fake', $1, 5, 'EUR', '{}', $2, $2, now() - interval '1000 days')`,
        reference,
        handling,
      );
    for (const handling of ['kept', 'waiting', 'revived', 'adopted', 'refunding']) await insert('unmatched', handling);
    await insert(id, 'refunding');
    await sql(refund('PENDING'), id);
    const left = async () =>
      (await sql<{ name: string }>(`SELECT reference || ' ' || handling AS name FROM ${SCHEMA}.unmatched_payment`))
        .map(({ name }) => name)
        .sort();
    expect(await purge({ settledMoneyMs: 2_000 * DAY_MS }).runOnce()).toMatchObject({ settledMoney: 0 });
    expect(await purge({ settledMoneyMs: 10 * DAY_MS }).runOnce()).toMatchObject({ settledMoney: 3 });
    expect(await left()).toEqual([`${id} refunding`, 'unmatched kept', 'unmatched waiting'].sort());
    await sql(`UPDATE ${SCHEMA}.refund SET status = 'REFUNDED' WHERE order_id = $1`, id);
    expect(await purge({ settledMoneyMs: 10 * DAY_MS }).runOnce()).toMatchObject({ settledMoney: 1 });
  });

  it('counts from when a person settled the money, who may have been wrong', async () => {
    const insert = `INSERT INTO ${SCHEMA}.unmatched_payment
       (id, provider, reference, amount, currency, evidence, reason, handling, created_at, resolved_at)
       VALUES (gen_random_uuid(), 'fake', $1, 5, 'EUR', '{}', 'unknown-order', 'settled', now() - interval '1000 days',
               now() - $2 * interval '1 day')`;
    await sql(insert, 'settled-yesterday', 1);
    await sql(insert, 'settled-long-ago', 20);
    expect(await purge({ settledMoneyMs: 10 * DAY_MS }).runOnce()).toMatchObject({ settledMoney: 1 });
    const left = await sql(`SELECT reference FROM ${SCHEMA}.unmatched_payment WHERE reference LIKE 'settled-%'`);
    expect(left).toEqual([{ reference: 'settled-yesterday' }]);
  });

  it('purges idempotency keys by their age, in pages', async () => {
    await sql(
      `INSERT INTO ${SCHEMA}.idempotency_key (scope, key, fingerprint, response, created_at)
       SELECT 'place:m' || n % 3, 'k' || n, 'f', '{}', now() - CASE WHEN n % 2 = 0 THEN interval '8 days' ELSE '6 days' END
         FROM generate_series(1, 2400) n`,
    );
    expect(await purge({ idempotencyKeysMs: 7 * DAY_MS }).runOnce()).toMatchObject({ idempotencyKeys: 1_200 });
    expect(await sql(`SELECT count(*)::int AS n FROM ${SCHEMA}.idempotency_key`)).toEqual([{ n: 1_200 }]);
  });

  it('continues in the next run where the last one ended', async () => {
    await sql(`INSERT INTO ${SCHEMA}.idempotency_key (scope, key, fingerprint, response, created_at)
       SELECT 'place:later', 'k' || n, 'f', '{}', now() - interval '90 days' FROM generate_series(1, 1200) n`);
    let ms = 0;
    const slow = { ...new SystemClock(), monotonic: () => (ms += 600) } as unknown as SystemClock;
    const inPieces = purgeOf(shop, { idempotencyKeysMs: 80 * DAY_MS }, slow);
    const runs = [];
    do runs.push(await inPieces.runOnce());
    while (runs.at(-1)?.hasMore && runs.length < 50);
    expect(runs.length).toBeGreaterThan(2);
    expect(inPieces.totals.idempotencyKeys).toBe(1_200);
  });

  it('has nothing to do if everything is kept forever', async () => {
    expect(purge({}).isOn).toBe(false);
    expect(await purge({}).runOnce()).toMatchObject({ orders: 0, hasMore: false });
  });

  it('restores the history rules if its migration is reverted', async () => {
    const Migration = orderMigrations(SCHEMA).find(({ name }) => name.startsWith('LetHistoryGo'));
    if (!Migration) throw new Error('the migration is gone');
    const runner = shop.dataSource.createQueryRunner();
    await new Migration().down?.(runner);
    await expect(sql(`DELETE FROM ${SCHEMA}.order_history WHERE order_id = 'nobody'`)).rejects.toThrow('append-only');
    await new Migration().up(runner);
    await runner.release();
    await sql(`DELETE FROM ${SCHEMA}.order_history WHERE order_id = 'nobody'`);
  });
});
