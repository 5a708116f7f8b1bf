import { type NewOrder } from '../../../src/orders/model/new-order';
import { ErasePersonalData } from '../../../src/orders/retention/purge-orders';
import { fill, newOrder, openShop, SCHEMA, settleUntilDone, type Shop } from './shop';

const SECRET = 'jane-doe';
const TABLES = [
  'orders',
  'payment_attempt',
  'order_history',
  'unmatched_payment',
  'refund',
  'idempotency_key',
  'order_line',
];

/** What callers or buyers write into it is erased, but for what an operator who acts writes. */
const ERASED = {
  idempotency_key: ['fingerprint', 'key', 'response', 'scope'],
  order_history: ['actor', 'evidence', 'reason', 'traceparent'],
  orders: ['fingerprint', 'metadata'],
  payment_attempt: ['evidence', 'reference', 'transaction_id'],
  refund: ['evidence', 'number', 'reference', 'refund_id'],
  unmatched_payment: ['evidence', 'reference', 'resolution'],
};

/** Ids, codes, and operators. */
const KEPT = {
  order_history: ['cause', 'from_status', 'order_id', 'to_status'],
  order_line: ['order_id', 'sku'],
  orders: ['closing_reason', 'id', 'merchant_id', 'status'],
  payment_attempt: ['merchant_account', 'order_id', 'paid_source', 'provider', 'resolved_account', 'status'],
  refund: ['currency', 'merchant_account', 'order_id', 'provider', 'reason', 'requested_by', 'status'],
  unmatched_payment: 'currency handling merchant_account order_id provider reason resolved_by source'.split(' '),
};

describe('erasing the personal data of an order', () => {
  let shop: Shop;
  let erase: ErasePersonalData;
  beforeAll(async () => {
    shop = await openShop({ lateWatchOffsetsMs: [] });
    erase = shop.services.get(ErasePersonalData);
    await fill(shop, { apple: 1_000 });
  });
  afterAll(() => shop.database.drop());

  const sql = <T>(text: string, ...parameters: unknown[]): Promise<T[]> => shop.dataSource.query(text, parameters);
  const request = (orderId: string) => ({ orderId, reason: 'request 4711' });
  const operator = { cause: 'api', actor: 'back-office' } as const;

  /** The tables with rows about the order that contain a text. */
  const foundIn = async (text: string): Promise<string[]> => {
    const found: string[] = [];
    for (const table of TABLES) {
      const rows = await sql(`SELECT 1 FROM ${SCHEMA}.${table} t WHERE t::text LIKE '%' || $1 || '%'`, text);
      found.push(...rows.map(() => table));
    }
    return found;
  };

  it('knows of each text in these tables whether it is erased', async () => {
    const columns = await sql<{ name: string }>(
      `SELECT concat_ws('.', table_name, column_name) AS name FROM information_schema.columns
        WHERE table_schema = $1 AND table_name = ANY($2) AND data_type IN ('text', 'jsonb', 'character varying') ORDER BY 1`,
      SCHEMA,
      TABLES,
    );
    const known = [ERASED, KEPT].flatMap((tables) =>
      Object.entries(tables).flatMap(([table, names]) => names.map((name) => `${table}.${name}`)),
    );
    // CONTRIBUTING.md, "Add a field to an order", says where a new one has to be erased and hidden.
    expect(columns.map(({ name }) => name)).toEqual(known.sort());
  });

  let counter = 0;
  const place = async (overrides: Partial<NewOrder> = {}): Promise<string> => {
    const order = newOrder({ paymentWindowMs: 60_000, reminderOffsetsMs: [], ...overrides });
    await shop.place.execute([order], { by: { cause: 'api', actor: SECRET, traceparent: `00-${SECRET}` } });
    return order.id;
  };
  /** A paid order with the buyer in every field, and with a second payment that is refunded and settled. */
  const settledOrder = async (): Promise<string> => {
    const reference = `${SECRET}-${++counter}`;
    const id = await place({
      metadata: { name: SECRET },
      idempotencyKey: reference,
      attempt: { provider: 'fake', reference },
    });
    const payment = { provider: 'fake', reference, amount: 1_999n, currency: 'EUR', transactionId: `t-${reference}` };
    await shop.markPaid.execute({ orderId: id, ...payment }, { by: operator });
    await sql(
      `INSERT INTO ${SCHEMA}.payment_attempt (provider, reference, order_id, status, amount, currency, evidence, transaction_id)
       VALUES ('fake', $2 || '-b', $1, 'REFUNDED', 1999, 'EUR', jsonb_build_object('payer', $2), $2)`,
      id,
      reference,
    );
    await sql(
      `INSERT INTO ${SCHEMA}.refund (number, provider, reference, order_id, amount, currency, reason, status, refund_id, evidence)
       VALUES (md5($2), 'fake', $2 || '-b', $1, 1999, 'EUR', 'surplus', 'REFUNDED', 'r-' || $2, jsonb_build_object('payer', $2))`,
      id,
      reference,
    );
    await sql(
      `INSERT INTO ${SCHEMA}.refund (number, provider, reference, order_id, amount, currency, reason, status, refund_id, evidence)
       VALUES (md5($2 || ' excess'), 'fake', $2 || '-b', $1, 1, 'EUR', 'overpaid', 'REFUNDED', 'r-' || $2, jsonb_build_object('payer', $2))`,
      id,
      reference,
    );
    await sql(
      `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, order_id, amount, currency, evidence, reason, handling)
       SELECT gen_random_uuid(), 'fake', $2 || '-b', CASE r WHEN 'surplus' THEN $1 END, 1999, 'EUR', jsonb_build_object('payer', $2), r, 'refunding'
         FROM unnest(ARRAY['surplus', 'late']) r`,
      id,
      reference,
    );
    await sql(`DELETE FROM ${SCHEMA}.outbox`);
    return id;
  };

  const booksOf = (id: string) =>
    sql(
      `SELECT o.merchant_id, o.status, o.amount, o.currency, o.expires_at, o.created_at, o.updated_at, o.paid_at, o.closed_at,
              (SELECT json_agg(l ORDER BY l.line_no) FROM ${SCHEMA}.order_line l WHERE l.order_id = o.id) AS lines,
              (SELECT json_agg(json_build_array(a.status, a.amount, a.currency, a.paid_amount, a.paid_at, a.created_at) ORDER BY a.created_at)
                 FROM ${SCHEMA}.payment_attempt a WHERE a.order_id = o.id) AS attempts,
              (SELECT json_agg(json_build_array(r.status, r.amount, r.currency, r.reason, r.created_at)) FROM ${SCHEMA}.refund r
                WHERE r.order_id = o.id) AS refunds,
              (SELECT json_agg(json_build_array(h.version, h.from_status, h.to_status, h.cause, h.occurred_at) ORDER BY h.version)
                 FROM ${SCHEMA}.order_history h WHERE h.order_id = o.id AND h.version <= 2) AS history
         FROM ${SCHEMA}.orders o WHERE o.id = $1`,
      id,
    );

  it('removes everything about the person and keeps the accounts complete', async () => {
    const id = await settledOrder();
    const before = await booksOf(id);
    expect(new Set(await foundIn(SECRET))).toEqual(new Set(TABLES.filter((table) => table !== 'order_line')));
    const result = await erase.execute(request(id), { by: operator });
    expect(result).toMatchObject({ outcome: 'erased', order: { id, status: 'PAID', version: 3, amount: 1_999 } });
    expect(result).not.toHaveProperty('order.metadata');
    expect(await foundIn(SECRET)).toEqual([]);
    expect(await booksOf(id)).toEqual(before);
    expect(await shop.readOrder.execute(id)).toMatchObject({
      attempts: [{ reference: expect.stringMatching(/^erased:/) as unknown }, {}],
    });
  });

  it('uses one pseudonym for refund, attempt, and unmatched money', async () => {
    const id = await settledOrder();
    await erase.execute(request(id), { by: operator });
    const names = await sql<{ refund: string; attempt: string; money: string[] }>(
      `SELECT r.reference AS refund, a.reference AS attempt,
              ARRAY(SELECT p.reference FROM ${SCHEMA}.unmatched_payment p
                     WHERE p.provider = r.provider AND p.reference = r.reference) AS money
         FROM ${SCHEMA}.refund r JOIN ${SCHEMA}.payment_attempt a USING (provider, reference) WHERE r.order_id = $1`,
      id,
    );
    const [{ refund, attempt, money } = { refund: '', attempt: 'none', money: [] }] = names;
    expect(refund).toMatch(/^erased:[0-9a-f-]{36}$/);
    expect([attempt, ...money]).toEqual([refund, refund, refund]);
  });

  it('records who erased it and why, and keeps the codes of the service', async () => {
    const closed = await place({ paymentWindowMs: 0 });
    await settleUntilDone(shop, [closed]);
    await sql(`DELETE FROM ${SCHEMA}.timeout`);
    await sql(`DELETE FROM ${SCHEMA}.outbox`);
    await erase.execute(request(closed), { by: operator });
    const history = await shop.history.execute(closed);
    expect(history).toMatchObject([
      { version: 1, to: 'PENDING', cause: 'api', actor: null, reason: null, evidence: null, traceparent: null },
      { version: 2, to: 'CLOSED', cause: 'message' },
      { version: 3, from: 'CLOSED', to: 'CLOSED', cause: 'operator', actor: 'back-office', reason: 'request 4711' },
    ]);
    expect(history[1]?.reason).not.toBeNull();
  });

  it('changes nothing when repeated, and erases later data', async () => {
    const id = await settledOrder();
    await erase.execute(request(id), { by: operator });
    const before = await shop.history.execute(id);
    expect(await erase.execute(request(id), { by: operator })).toMatchObject({
      outcome: 'already-erased',
      order: { version: 3 },
    });
    expect(await shop.history.execute(id)).toEqual(before);
    await sql(
      `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, order_id, amount, currency, evidence, reason, handling)
       VALUES (gen_random_uuid(), 'fake', $2, $1, 1, 'EUR', jsonb_build_object('payer', $2::text), 'late', 'revived')`,
      id,
      SECRET,
    );
    expect(await erase.execute(request(id), { by: operator })).toMatchObject({ outcome: 'erased' });
    expect(await foundIn(SECRET)).toEqual([]);
    expect((await shop.history.execute(id))[2]).toMatchObject({ reason: 'request 4711', evidence: { erased: true } });
  });

  it('does not change the attempt of another order that its unmatched money names', async () => {
    const [id, other] = [await settledOrder(), await settledOrder()];
    const foreign = await sql<{ reference: string }>(
      `SELECT reference FROM ${SCHEMA}.refund WHERE order_id = $1`,
      other,
    );
    await sql(
      `INSERT INTO ${SCHEMA}.unmatched_payment (id, provider, reference, order_id, amount, currency, evidence, reason, handling)
       VALUES (gen_random_uuid(), 'fake', $2, $1, 1, 'EUR', '{}', 'attempt-mismatch', 'revived')`,
      id,
      foreign[0]?.reference,
    );
    expect(await erase.execute(request(id), { by: operator })).toMatchObject({ outcome: 'erased' });
    expect(await sql(`SELECT reference FROM ${SCHEMA}.refund WHERE order_id = $1`, other)).toEqual(foreign);
    await erase.execute(request(other), { by: operator });
    expect(await foundIn(SECRET)).toEqual([]);
  });

  it('rejects an order that does not exist, is not finished, or has open items', async () => {
    expect(await erase.execute(request('nobody'))).toEqual({ outcome: 'rejected', code: 'ORDER_NOT_FOUND' });
    const pending = await place();
    expect(await erase.execute(request(pending))).toEqual({
      outcome: 'rejected',
      code: 'ORDER_NOT_FINISHED',
      status: 'PENDING',
    });
    const id = await settledOrder();
    await sql(
      `INSERT INTO ${SCHEMA}.outbox (id, route, routing_key, body)
       VALUES (gen_random_uuid(), 'event', 'order.paid', jsonb_build_object('orderId', $1::text))`,
      id,
    );
    await sql(`UPDATE ${SCHEMA}.unmatched_payment SET handling = 'kept' WHERE order_id = $1`, id);
    expect(await erase.execute(request(id))).toEqual({
      outcome: 'rejected',
      code: 'ORDER_HAS_OPEN_ITEMS',
      open: ['unmatched-money', 'event'],
    });
    expect((await foundIn(SECRET)).length).toBeGreaterThan(0);
  });

  it("runs in the caller's transaction", async () => {
    await sql(`DELETE FROM ${SCHEMA}.outbox`);
    const id = await settledOrder();
    await expect(
      shop.dataSource.transaction(async (tx) => {
        await erase.execute(request(id), { by: operator, tx });
        throw new Error('the host changed its mind');
      }),
    ).rejects.toThrow('changed its mind');
    expect((await shop.readOrder.execute(id))?.metadata).toEqual({ name: SECRET });
  });

  it('waits until a listener has heard of the order', async () => {
    const kind = 'order-listener.mailer';
    shop.listeners.subscribe(['order.paid'], kind);
    const id = await settledOrder();
    expect(await erase.execute(request(id))).toMatchObject({ code: 'ORDER_HAS_OPEN_ITEMS', open: ['event'] });
    const [{ key } = { key: '' }] = await sql<{ key: string }>(
      `SELECT key FROM ${SCHEMA}.timeout WHERE kind = $1 AND payload->>'orderId' = $2`,
      kind,
      id,
    );
    await shop.scheduler.cancel([{ kind, key }]);
    expect(await erase.execute(request(id))).toMatchObject({ outcome: 'erased' });
  });
});
