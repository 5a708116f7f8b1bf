import { Orders } from '../../../src';
import { until } from '../../support/engine';
import { KEYS, openOperatorHost, type OperatorHost, type SignedIn } from './operator-host';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SECRET = 'Jane Doe, 5th Avenue';
const ids = ({ orders }: { orders?: unknown }) => (orders as { id: string }[]).map(({ id }) => id);

describe('an operator who looks at orders', () => {
  let host: OperatorHost;
  let orders: Orders;
  const as: Partial<Record<keyof typeof KEYS, SignedIn>> = {};

  beforeAll(async () => {
    host = await openOperatorHost();
    orders = host.app.get(Orders);
    for (const name of Object.keys(KEYS) as (keyof typeof KEYS)[]) as[name] = await host.signIn(KEYS[name]);
    await host.database.dataSource.query(`INSERT INTO order_timeout.inventory (sku, on_hand) VALUES ('apple', 100)`);
    const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
    await place('a-1', 'a', { by: { cause: 'api', traceparent } });
    await place('b-1', 'b');
    await place('a-2', 'a');
    await orders.registerAttempt({ orderId: 'b-1', provider: 'posting', reference: 'ref of b-1' });
    await orders.cancel({ orderId: 'a-2', reason: 'changed my mind' });
  });
  afterAll(() => host.close());

  const place = (id: string, merchantId: string, options = {}) =>
    orders.place(
      {
        ...{ id, merchantId, amount: 500, currency: 'EUR', paymentWindowMs: 600_000, metadata: { address: SECRET } },
        lines: [{ sku: 'apple', quantity: 2, unitAmount: 250 }],
      },
      options,
    );
  const get = async (path: string, who: keyof typeof KEYS = 'reader') => {
    const { status, body } = (await as[who]?.get(path)) ?? {};
    return { status, body: body as Record<string, unknown> };
  };

  it.each([
    ['', ['a-2', 'b-1', 'a-1']],
    ['status=PENDING', ['b-1', 'a-1']],
    ['status=PENDING&status=CANCELLED&merchantId=a', ['a-2', 'a-1']],
    ['provider=posting', ['b-1']],
    ['q=a-1', ['a-1']],
    ['q=ref%20of%20b-1', ['b-1']],
    ['q=a', ['a-2', 'a-1']],
    [`q=${TRACE}`, ['a-1']],
    [`q=00-${TRACE}-00f067aa0ba902b7-01`, ['a-1']],
    [`trace=${TRACE}`, ['a-1']],
    ['q=nothing', []],
    ['q=%20%27;--', []],
  ])('finds by "%s"', async (query, expected) => {
    const { status, body } = await get(`orders?${query}`);
    expect([status, ids(body), body['next']]).toEqual([200, expected, null]);
  });

  it('pages', async () => {
    const first = (await get('orders?limit=2')).body;
    const second = (await get(`orders?limit=2&cursor=${String(first['next'])}`)).body;
    expect([ids(first), ids(second), second['next']]).toEqual([['a-2', 'b-1'], ['a-1'], null]);
  });

  it.each(['limit=0', 'status=OPEN', 'trace=1', 'cursor=x', 'sku=apple', 'createdFrom=yesterday'])(
    'is told that %s is wrong',
    async (query) => {
      expect(await get(`orders?${query}`)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    },
  );

  it('sees what happened to an order, without personal data', async () => {
    const { status, body } = await get('orders/b-1');
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain(SECRET);
    expect(body).toMatchObject({
      ...{ id: 'b-1', merchantId: 'b', status: 'PENDING', amount: 500, payable: true, personal: 'hidden' },
      stock: [{ sku: 'apple', quantity: 2, state: 'RESERVED' }],
      timeouts: expect.arrayContaining([expect.objectContaining({ kind: 'order.payment', state: 'pending' })]) as [],
      timeline: [
        { what: 'history', title: 'placed as PENDING', cause: 'api' },
        { what: 'attempt', title: 'payment attempt at posting', details: { reference: 'ref of b-1' } },
      ],
    });
    expect((await get('orders/a-2')).body).toMatchObject({
      stock: [{ state: 'RELEASED' }],
      timeline: [{}, { title: 'PENDING → CANCELLED', details: { reason: 'changed my mind' } }],
    });
    expect(await get('orders/nobody')).toMatchObject({ status: 404, body: { code: 'ORDER_NOT_FOUND' } });
  });

  it('sees which events of an order are not sent yet, without their bodies', async () => {
    await host.database.dataSource.query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at, parked_reason)
       SELECT gen_random_uuid(), 'event', type, jsonb_build_object('orderId', id, 'address', '${SECRET}'), now(), parked
         FROM (VALUES ('order.placed', 'b-1', NULL), ('order.reminder', 'b-1', 'too large'), ('order.paid', 'a-1', NULL))
           AS event(type, id, parked)`,
    );
    const { body } = await get('orders/b-1');
    const events = (body['timeline'] as { what: string }[]).filter(({ what }) => what === 'event');
    expect(JSON.stringify(body)).not.toContain(SECRET);
    expect(events).toHaveLength(2);
    expect(events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ title: 'order.placed waits in the outbox' }),
        expect.objectContaining({
          title: 'order.reminder is parked in the outbox',
          details: { type: 'order.reminder', parked: true, reason: 'too large' },
        }),
      ]),
    );
    await host.database.dataSource.query('DELETE FROM order_timeout.outbox');
  });

  it('of one merchant sees that merchant alone', async () => {
    expect(ids((await get('orders', 'ofA')).body)).toEqual(['a-2', 'a-1']);
    expect((await get('orders?merchantId=b', 'ofA')).status).toBe(403);
    for (const query of ['q=b-1', 'q=ref%20of%20b-1', 'q=b', 'provider=posting', 'reference=ref%20of%20b-1'])
      expect(ids((await get(`orders?${query}`, 'ofA')).body)).toEqual([]);
    expect(await get('orders/b-1', 'ofA')).toEqual({
      status: 404,
      body: expect.objectContaining({ code: 'ORDER_NOT_FOUND', detail: 'there is no order "b-1"' }) as object,
    });
    expect((await as.ofA?.post('orders/b-1/reveal', { reason: 'curious' }))?.status).toBe(404);
    const { body } = await get('overview', 'ofA');
    expect(body).toMatchObject({ orders: { pending: 1, paid24h: 0 }, attention: { parkedTimeouts: 0 } });
    expect((body['due'] as { nextHour: number[] }).nextHour.reduce((sum, count) => sum + count)).toBe(1);
  });

  it('sees personal data only with the role for it, and leaves a trace', async () => {
    for (const who of ['reader', 'operator', 'cashier'] as const)
      expect((await as[who]?.post('orders/b-1/reveal', { reason: 'curious' }))?.status).toBe(403);
    const revealed = await as.revealer?.post('orders/b-1/reveal', { reason: 'the buyer called' });
    expect(revealed).toMatchObject({ status: 200, body: { metadata: { address: SECRET } } });
    const last = (await orders.history('b-1')).at(-1);
    expect(last).toMatchObject({ cause: 'operator', actor: 'revealer', reason: 'the buyer called', to: 'PENDING' });
    expect((await as.revealer?.post('orders/b-1/reveal', {}))?.status).toBe(400);
    expect((await get('orders/b-1')).body['timeline']).toMatchObject([{}, {}, { actor: 'revealer' }]);
  });

  it('sees the state of everything', async () => {
    const { status, body } = await get('overview');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      orders: { pending: 2, closing: 0, paid24h: 0, closed24h: 0, partial: false },
      due: { nextMinute: 0, overdue: 0 },
      lateness: [{ clock: 'message', p50Ms: null, count: 0 }, { clock: 'sweep' }, { clock: 'access' }],
      transport: { name: 'none', why: 'no broker is configured' },
      broker: { state: 'not configured', messagePath: 'off', cause: null },
      database: { state: 'up' },
      outbox: { waiting: 0, parked: 0 },
      providers: [{ name: 'posting', breaker: 'closed' }],
      attention: { parkedTimeouts: 0, unmatchedPayments: 0, refundsFailed: 0, parkedMessages: null },
    });
    const { nextHour } = body['due'] as { nextHour: number[] };
    expect([nextHour.length, nextHour[9], nextHour[10]]).toEqual([60, 2, 0]);
    expect((body['kinds'] as { kind: string }[]).map(({ kind }) => kind)).toContain('order.payment');
  });

  it('sees how late the deadlines are', async () => {
    await place('soon', 'a', {});
    await orders.extendDeadline({ orderId: 'soon', expiresAt: new Date() });
    await until(async () => (await orders.get('soon'))?.status === 'CLOSED');
    await until(async () => {
      const { lateness } = (await get('overview')).body as { lateness: { clock: string; p50Ms: number | null }[] };
      return lateness.some(({ p50Ms }) => p50Ms !== null);
    });
    expect((await get('overview')).body).toMatchObject({ orders: { closed24h: 1 } });
  });

  it('sees what was paid, which may be another amount and currency than the attempt is for', async () => {
    await place('half', 'b');
    const payment = { orderId: 'half', provider: 'posting', reference: 'half of it' };
    await orders.registerAttempt(payment);
    await orders.markPaid({ ...payment, amount: 200, currency: 'JPY' });
    const { body } = await get('orders/half');
    expect(body['attempts']).toMatchObject([{ amount: 500, currency: 'EUR', paidAmount: 200, paidCurrency: 'JPY' }]);
    const timeline = body['timeline'] as { what: string; details: object }[];
    const amountOf = (kind: string) => timeline.find(({ what }) => what === kind)?.details;
    expect(amountOf('attempt')).toMatchObject({ amount: 500, currency: 'EUR' });
    expect(amountOf('look-up')).toMatchObject({ amount: 200, currency: 'JPY' });
  });
});
