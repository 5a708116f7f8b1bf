import { randomUUID } from 'node:crypto';
import { Orders } from '../../../src';
import { refundNumber } from '../../../src/orders/model/unmatched-money';
import { until } from '../../support/engine';
import { KEYS, openOperatorHost, type OperatorHost, type SignedIn } from './operator-host';

const reason = 'the buyer called';
const SECRET = 'Jane Doe, 5th Avenue';
type Who = keyof typeof KEYS;

/** Every action, and the only roles that may do it. */
const ACTIONS: readonly [path: string, may: readonly Who[]][] = [
  ...['extend', 'auto-close', 'cancel', 'close', 'pay-check'].map(
    (action) => [`orders/x/${action}`, ['operator']] as [string, Who[]],
  ),
  ...['extend', 'cancel', 'close'].map((action) => [`orders/bulk/actions/${action}`, ['operator']] as [string, Who[]]),
  ['parked-timeouts/reschedule', ['operator']],
  ...['parked-timeouts', 'outbox/parked', 'messages/parked'].flatMap((what) =>
    ['replay', 'discard'].map((action) => [`${what}/${action}`, ['operator']] as [string, Who[]]),
  ),
  ['orders/x/revive', ['cashier']],
  ['orders/x/refund', ['cashier']],
  ['orders/x/reveal', ['revealer']],
  ...['settle', 'reopen', 'assign'].map(
    (action) => [`payments/unmatched/${randomUUID()}/${action}`, ['cashier']] as [string, Who[]],
  ),
];

describe('an operator who acts', () => {
  let host: OperatorHost;
  let orders: Orders;
  const as = {} as Record<Who, SignedIn>;

  beforeAll(async () => {
    host = await openOperatorHost({ options: { orders: { latePayment: 'keep', reminderOffsetsMs: [] } } });
    orders = host.app.get(Orders);
    for (const name of Object.keys(KEYS) as Who[]) as[name] = await host.signIn(KEYS[name]);
  });
  afterAll(() => host.close());

  let count = 0;
  const place = async (merchantId = 'a', more: object = {}) => {
    const id = `${merchantId}-${++count}`;
    const metadata = { address: SECRET };
    const order = { id, merchantId, amount: 500n, currency: 'EUR', paymentWindowMs: 600_000, lines: [], metadata };
    await orders.place({ ...order, ...more });
    return id;
  };
  const query = <T>(sql: string, values: unknown[] = []) => host.database.dataSource.query<T>(sql, values);
  const statusOf = async (id: string) => (await orders.get(id))?.status;
  const lastOf = async (id: string) => (await orders.history(id)).at(-1);
  /** An answer is shared for a second. */
  const untilOverview = (attention: Readonly<Record<string, number>>) =>
    until(async () => {
      const { body } = await as.reader.get('overview');
      return Object.entries(attention).every(
        ([name, value]) => (body['attention'] as Record<string, number>)[name] === value,
      );
    });
  const park = (kind: string, key: string, error: string) =>
    query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, last_error)
       VALUES ($1, $2, 1, now(), now(), 'parked', $3)
       ON CONFLICT (kind, key) DO UPDATE SET state = 'parked', last_error = $3`,
      [kind, key, error],
    );

  it.each(ACTIONS)('needs the right role for %s', async (path, may) => {
    for (const who of ['reader', 'operator', 'cashier', 'revealer'] as const) {
      const { status, body } = await as[who].post(path, { wrong: true });
      if (may.includes(who)) expect([who, status]).not.toEqual([who, 403]);
      else expect([who, status, body.code]).toEqual([who, 403, 'FORBIDDEN']);
    }
  });

  it.each([
    ['extend', { byMs: 60_000 }],
    ['auto-close', { enabled: false }],
    ['cancel', {}],
    ['close', {}],
    ['revive', {}],
    ['refund', { provider: 'posting', reference: 'r' }],
    ['reveal', {}],
  ])('must give a reason to %s', async (action, body) => {
    const { status, body: problem } = await as.all.post(`orders/${await place()}/${action}`, body);
    expect([status, problem.code]).toEqual([400, 'VALIDATION_FAILED']);
    expect(JSON.stringify(problem)).toContain('reason');
  });

  it.each([
    ['extend', { byMs: 60_000 }, 'PENDING'],
    ['auto-close', { enabled: false }, 'PENDING'],
    ['cancel', {}, 'CANCELLED'],
    ['close', {}, 'CLOSED'],
  ])('can %s an order, and the history says who and why', async (action, body, status) => {
    const id = await place();
    const answer = await as.operator.post(`orders/${id}/${action}`, { ...body, reason });
    expect(answer).toMatchObject({ status: 200, body: { id, status } });
    expect(answer.text).not.toContain(SECRET);
    expect(await lastOf(id)).toMatchObject({ to: status, cause: 'operator', actor: 'operator', reason });
  });

  it('looks up payments', async () => {
    const id = await place('a', { attempt: { provider: 'posting', reference: 'open' } });
    expect(await as.operator.post(`orders/${id}/pay-check`)).toMatchObject({
      status: 200,
      body: { status: 'PENDING' },
    });
  });

  it('extends the orders of a filter, once, after a look at what would happen', async () => {
    const [one, two, foreign] = [await place('c'), await place('c'), await place('d')];
    const before = (await orders.get(one))?.expiresAt.getTime() ?? 0;
    const request = { filter: { merchantId: 'c' }, byMs: 60_000, reason, actionId: 'act-1' };
    const dry = await as.operator.post('orders/bulk/actions/extend', { ...request, dryRun: true });
    expect(dry).toMatchObject({ status: 200, body: { dryRun: true, count: 2, outcomes: { extended: 2 }, next: null } });
    expect((await orders.get(one))?.expiresAt.getTime()).toBe(before);
    for (const outcomes of [{ extended: 2 }, { 'already-extended': 2 }])
      expect((await as.operator.post('orders/bulk/actions/extend', request)).body).toMatchObject({
        dryRun: false,
        outcomes,
      });
    expect((await orders.get(two))?.expiresAt.getTime()).toBeGreaterThan(before + 50_000);
    expect(await lastOf(one)).toMatchObject({ cause: 'operator', actor: 'operator', reason });
    expect(await lastOf(foreign)).toMatchObject({ cause: 'api' });
  });

  it.each([
    ['cancel', 'CANCELLED'],
    ['close', 'CLOSED'],
  ])('can %s the orders of a filter, page by page', async (action, status) => {
    const ids = [await place('e'), await place('e'), await place('e')];
    const request = { filter: { merchantId: 'e' }, reason, limit: 2 };
    const { body } = await as.operator.post(`orders/bulk/actions/${action}`, request);
    expect(body).toMatchObject({ count: 2, next: expect.any(String) as string });
    expect(
      (await as.operator.post(`orders/bulk/actions/${action}`, { ...request, cursor: body['next'] })).body,
    ).toMatchObject({
      ...{ count: 1, next: null },
    });
    for (const id of ids) expect(await statusOf(id)).toBe(status);
  });

  it('of one merchant acts for that merchant alone', async () => {
    const [mine, theirs] = [await place('a'), await place('b')];
    for (const [action, body] of [
      ['cancel', {}],
      ['extend', { byMs: 1 }],
      ['revive', {}],
    ] as const)
      expect((await as.ofA.post(`orders/${theirs}/${action}`, { ...body, reason })).status).toBe(404);
    expect((await as.ofA.post('orders/bulk/actions/cancel', { filter: { merchantId: 'b' }, reason })).status).toBe(403);
    expect((await as.ofA.post('orders/bulk/actions/cancel', { filter: { status: ['PENDING'] }, reason })).status).toBe(
      200,
    );
    expect([await statusOf(mine), await statusOf(theirs)]).toEqual(['CANCELLED', 'PENDING']);
    for (const path of ['outbox/parked', 'messages/parked']) {
      expect((await as.ofA.get(path)).status).toBe(403);
      const ids = [randomUUID()];
      for (const action of ['replay', 'discard'])
        expect((await as.ofA.post(`${path}/${action}`, { ids, reason })).status).toBe(403);
    }
  });

  it('sees parked timeouts by kind and reason, and replays and discards them', async () => {
    const [one, two, foreign] = [await place('a'), await place('a'), await place('b')];
    await park('order.payment', one, `provider "p" failed 3 times`);
    await park('order.payment', two, `provider "q" failed 12 times`);
    await park('order.payment', foreign, `provider "q" failed 1 times`);
    await park('order.late-watch', one, 'other');
    const like = 'provider "…" failed # times';
    expect((await as.reader.get('parked-timeouts/groups')).body).toMatchObject([
      { kind: 'order.payment', reason: like, count: 3 },
      { kind: 'order.late-watch', reason: 'other', count: 1 },
    ]);
    expect((await as.ofA.get('parked-timeouts/groups')).body).toMatchObject([{ count: 2 }, { count: 1 }]);
    const listed = async (who: Who, filter: string) =>
      ((await as[who].get(`parked-timeouts?${filter}`)).body as unknown as { key: string }[]).map(({ key }) => key);
    expect(await listed('reader', `reason=${encodeURIComponent(like)}`)).toEqual([one, two, foreign]);
    expect(await listed('reader', `kind=order.payment&afterKind=order.payment&afterKey=${one}`)).toEqual([
      two,
      foreign,
    ]);
    expect(await listed('ofA', 'kind=order.payment&limit=5')).toEqual([one, two]);
    await untilOverview({ parkedTimeouts: 4 });

    const timeouts = [one, foreign].map((key) => ({ kind: 'order.payment', key }));
    expect((await as.ofA.post('parked-timeouts/replay', { timeouts, reason })).body).toEqual({ count: 1 });
    expect(await lastOf(one)).toMatchObject({
      cause: 'operator',
      actor: 'of-a',
      reason,
      evidence: { parked: 'replay' },
    });
    expect(await lastOf(foreign)).toMatchObject({ cause: 'api' });
    const watch = { timeouts: [{ kind: 'order.late-watch', key: one }], reason };
    expect((await as.operator.post('parked-timeouts/discard', watch)).body).toEqual({ count: 1 });
    expect(await lastOf(one)).toMatchObject({ evidence: { parked: 'discard' } });
    expect(await listed('reader', '')).toEqual([two, foreign]);
    expect((await as.operator.post('parked-timeouts/replay', { timeouts: [], reason })).status).toBe(400);
  });

  it('gives a parked timeout another time, at which it runs', async () => {
    const [id, foreign] = [await place('a'), await place('b')];
    for (const key of [id, foreign]) await park('order.payment', key, 'the disk is full');
    await query(`UPDATE order_timeout.orders SET expires_at = now() WHERE id = $1`, [id]);
    const timeouts = [id, foreign].map((key) => ({ kind: 'order.payment', key }));
    const reschedule = (afterMs: unknown) => as.ofA.post('parked-timeouts/reschedule', { timeouts, reason, afterMs });
    for (const wrong of [-1, 1.5, '1h', undefined]) expect((await reschedule(wrong)).status).toBe(400);
    const asked = Date.now();
    expect((await reschedule(1_500)).body).toEqual({ count: 1 });
    const noted = { cause: 'operator', actor: 'of-a', reason, evidence: { parked: 'reschedule', afterMs: 1_500 } };
    expect(await lastOf(id)).toMatchObject(noted);
    const pending = `SELECT key FROM order_timeout.timeout WHERE state = 'pending' AND key = ANY($1)`;
    expect(await query(pending, [[id, foreign]])).toEqual([{ key: id }]);
    const closed = `SELECT occurred_at AS at FROM order_timeout.order_history WHERE order_id = $1 AND to_status = 'CLOSED'`;
    await until(async () => (await query<unknown[]>(closed, [id])).length === 1);
    const [{ at } = { at: new Date(0) }] = await query<{ at: Date }[]>(closed, [id]);
    expect(at.getTime()).toBeGreaterThanOrEqual(asked + 1_500);
  });

  it('decides about unmatched payments', async () => {
    const pay = (orderId: string, reference: string) =>
      orders.markPaid({
        orderId,
        provider: 'posting',
        reference,
        amount: 500n,
        currency: 'EUR',
        evidence: { who: SECRET },
      });
    const [closed, open] = [await place(), await place()];
    await as.operator.post(`orders/${closed}/close`, { reason }).expect(200);
    await pay(closed, 'late');
    await pay('unknown-1', 'nobody-1');
    await pay('unknown-2', 'nobody-2');
    const { body, text } = await as.reader.get('payments/unmatched');
    const rows = body as unknown as { id: string; reference: string }[];
    expect(text).not.toContain(SECRET);
    const idOf = (reference: string) => rows.find((row) => row.reference === reference)?.id ?? '';
    expect(rows).toMatchObject([{ reference: 'late', orderId: closed, amount: 500 }, {}, {}]);
    expect((await as.ofA.get('payments/unmatched')).body).toMatchObject([{ reference: 'late' }]);
    await untilOverview({ unmatchedPayments: 3 });

    const path = (reference: string, action: string) => `payments/unmatched/${idOf(reference)}/${action}`;
    expect((await as.ofA.post(path('nobody-1', 'settle'), { reason })).status).toBe(404);
    expect(await as.cashier.post(path('nobody-1', 'settle'), { reason })).toMatchObject({
      ...{ status: 200, body: { handling: 'settled', resolvedBy: 'cashier', resolution: reason } },
    });
    expect((await as.ofA.post(path('nobody-1', 'reopen'), { reason })).status).toBe(404);
    const reopened = await as.cashier.post(path('nobody-1', 'reopen'), { reason });
    expect(reopened).toMatchObject({ status: 200, body: { handling: 'kept', resolvedBy: null, resolution: null } });
    expect(reopened.text).not.toContain(SECRET);
    expect((await as.cashier.post(path('late', 'settle'), { reason })).status).toBe(200);
    const ofOrder = async () => (await as.reader.get(`orders/${closed}`)).body['unmatched'];
    expect(await ofOrder()).toMatchObject([{ reference: 'late', handling: 'settled' }]);
    expect((await as.cashier.post(path('late', 'reopen'), { reason })).status).toBe(200);
    expect(await ofOrder()).toMatchObject([{ reference: 'late', handling: 'kept' }]);
    const assigned = await as.cashier.post(path('nobody-2', 'assign'), { orderId: open, reason });
    expect(assigned).toMatchObject({ status: 200, body: { outcome: 'assigned', order: { id: open, status: 'PAID' } } });
    expect(assigned.text).not.toContain(SECRET);
    const late = { provider: 'posting', reference: 'late', reason };
    const refused = await as.cashier.post(`orders/${closed}/refund`, late);
    expect(refused).toMatchObject({ status: 409, body: { code: 'PAYMENT_NOT_CONFIRMED' } });
    await query(`UPDATE order_timeout.payment_attempt SET paid_source = 'provider' WHERE reference = 'late'`);
    const refunded = await as.cashier.post(`orders/${closed}/refund`, late);
    expect(refunded).toMatchObject({ status: 200, body: { outcome: 'refunding', order: { status: 'REFUNDING' } } });
    expect(await lastOf(closed)).toMatchObject({ cause: 'operator', actor: 'cashier', reason });
  });

  it('sees refunds that go on and that have failed, and repeats one', async () => {
    const number = refundNumber({ provider: 'posting', reference: 'late' });
    const pending = async () => (await as.reader.get('refunds?state=pending')).body;
    expect(await pending()).toMatchObject([{ number, reference: 'late', amount: 500, requestedBy: 'cashier' }]);
    await untilOverview({ refundsFailed: 0 });
    await park('payment.refund', number, 'the provider refuses');
    await untilOverview({ refundsFailed: 1 });
    const { body } = await as.reader.get('refunds?state=failed');
    const [failed] = body as unknown as { orderId: string; timeout: { kind: string; key: string } }[];
    expect(failed).toMatchObject({ number, timeout: { state: 'parked', lastError: 'the provider refuses' } });
    expect((await as.ofA.get('refunds?state=failed')).body).toHaveLength(1);
    const { kind = '', key = '' } = failed?.timeout ?? {};
    const replay = { timeouts: [{ kind, key }], reason };
    expect((await as.operator.post('parked-timeouts/replay', replay)).body).toEqual({ count: 1 });
    const { orderId = '' } = failed ?? {};
    expect(await lastOf(orderId)).toMatchObject({
      cause: 'operator',
      actor: 'operator',
      evidence: { parked: 'replay' },
    });
    await until(async () => JSON.stringify(await pending()).includes(number));
  });

  it('sees parked rows of the outbox, and sends or deletes them', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    await query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at, parked_reason)
       SELECT id::uuid, 'event', 'order.closed', '{"address":"${SECRET}"}', 'infinity', 'too large'
         FROM unnest($1::text[]) id`,
      [[one, two]],
    );
    const { body, text } = await as.reader.get('outbox/parked');
    expect(body).toHaveLength(2);
    expect(body).toMatchObject([{ routingKey: 'order.closed', reason: 'too large' }, {}]);
    expect(text).not.toContain(SECRET);
    expect((await as.operator.post('outbox/parked/replay', { ids: [one], reason })).body).toEqual({ count: 1 });
    expect((await as.operator.post('outbox/parked/discard', { ids: [one, two], reason })).body).toEqual({ count: 1 });
    expect(await query(`SELECT id FROM order_timeout.outbox WHERE routing_key = 'order.closed'`)).toEqual([
      { id: one },
    ]);
  });

  it('is told that there is no broker', async () => {
    expect((await as.reader.get('messages/parked')).body).toEqual({ messages: null });
    const answer = await as.operator.post('messages/parked/replay', { ids: ['x'], reason });
    expect(answer).toMatchObject({ status: 200, body: { count: null } });
  });
});
