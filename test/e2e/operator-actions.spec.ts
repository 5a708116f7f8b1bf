import { anOrder, KEYS, openService, type RunningService } from './running-service';

const reason = 'the buyer called';

describe('an operator', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService({ LATE_PAYMENT: 'keep', SURPLUS_PAYMENT: 'keep' });
  });
  afterAll(() => service.close());

  const post = (path: string, body: object) => service.call('post', path, body);
  const placed = async (overrides: Record<string, unknown> = {}) => {
    const order = anOrder({ lines: [], ...overrides });
    await post('/orders', order).expect(201);
    return order.id;
  };
  const pay = (id: string, reference: string) =>
    post(`/orders/${id}/paid`, { provider: 'p', reference, amount: 1_999, currency: 'EUR' });
  const unmatched = async () =>
    (await service.call('get', '/payments/unmatched')).body as unknown as { id: string; reference: string }[];
  const idOf = async (reference: string) => (await unmatched()).find((row) => row.reference === reference)?.id ?? '';
  const gauge = async () => {
    const { text } = await service.call('get', '/metrics', undefined, null);
    return Number(/^order_timeout_unmatched_payments (\d+)$/m.exec(text)?.[1]);
  };
  const lastOf = async (id: string) => {
    const { body } = await service.call('get', `/orders/${id}/history`);
    return (body as unknown as Record<string, unknown>[]).at(-1);
  };

  it('closes an order manually', async () => {
    const id = await placed({ autoClose: false });
    expect(await post(`/orders/${id}/close`, { reason })).toMatchObject({ status: 200, body: { status: 'CLOSED' } });
    expect(await lastOf(id)).toMatchObject({ cause: 'operator', actor: 'shop', reason });
    const held = await placed({ attempt: { provider: 'p', reference: 'open' } });
    await post(`/orders/${held}/paid`, { provider: 'p', reference: 'part', amount: 1, currency: 'EUR' }).expect(200);
    const refusal = {
      status: 409,
      body: { code: 'ORDER_HAS_MONEY', payments: [{ provider: 'p', reference: 'part' }] },
    };
    expect(await post(`/orders/${held}/close`, { reason, attemptsAreClosed: true })).toMatchObject(refusal);
    expect(await post(`/orders/${held}/cancel`, { reason })).toMatchObject(refusal);
  });

  it('revives an order whose money was kept, and the alert clears', async () => {
    const id = await placed();
    await post(`/orders/${id}/close`, { reason }).expect(200);
    const before = await gauge();
    expect((await pay(id, 'late-1')).body).toMatchObject({ outcome: 'late', order: { status: 'CLOSED' } });
    expect(await gauge()).toBe(before + 1);
    expect((await post(`/orders/${id}/revive`, { reason })).body.status).toBe('PAID');
    expect(await gauge()).toBe(before);
  });

  it('refunds a payment only when its provider confirms it', async () => {
    const id = await placed();
    await post(`/orders/${id}/close`, { reason }).expect(200);
    await pay(id, 'late-2').expect(200);
    const refused = await post(`/orders/${id}/refund`, { provider: 'p', reference: 'late-2', reason });
    expect(refused).toMatchObject({ status: 409, body: { code: 'PAYMENT_NOT_CONFIRMED' } });
    await service.database.dataSource.query(
      `UPDATE order_timeout.payment_attempt SET paid_source = 'provider' WHERE reference = 'late-2'`,
    );
    const { body } = await post(`/orders/${id}/refund`, { provider: 'p', reference: 'late-2', reason });
    expect(body).toMatchObject({ outcome: 'refunding', order: { status: 'REFUNDING' } });
    expect(await lastOf(id)).toMatchObject({ cause: 'operator', actor: 'shop', reason });
  });

  it('settles and assigns unmatched payments', async () => {
    await pay('unknown-1', 'unmatched-1').expect(404);
    await pay('unknown-2', 'unmatched-2').expect(404);
    const settled = await post(`/payments/unmatched/${await idOf('unmatched-1')}/settle`, { reason });
    expect(settled).toMatchObject({
      status: 200,
      body: { handling: 'settled', resolvedBy: 'shop', resolution: reason },
    });
    const orderId = await placed();
    const { body } = await post(`/payments/unmatched/${await idOf('unmatched-2')}/assign`, { orderId, reason });
    expect(body).toMatchObject({ outcome: 'assigned', booked: 'paid', order: { id: orderId, status: 'PAID' } });
    expect((await unmatched()).map(({ reference }) => reference)).not.toEqual(
      expect.arrayContaining(['unmatched-1', 'unmatched-2']),
    );
  });

  it('pages, and is told what is wrong with a request', async () => {
    const [first] = await unmatched();
    const next = await service.call('get', `/payments/unmatched?limit=1&after=${first?.id}`);
    expect(next.status).toBe(200);
    for (const path of ['/payments/unmatched?after=x', '/payments/unmatched?limit=0']) {
      expect(await service.call('get', path)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    }
    expect((await post('/payments/unmatched/x/settle', { reason })).status).toBe(400);
    expect((await post(`/orders/${anOrder().id}/close`, {})).status).toBe(400);
  });

  it('needs the scope admin', async () => {
    const routes = ['/orders/x/refund', '/orders/x/revive', '/orders/x/close'];
    for (const path of [...routes, '/payments/unmatched/x/settle', '/payments/unmatched/x/assign']) {
      expect((await service.call('post', path, { reason }, KEYS.reader)).status).toBe(403);
    }
    expect((await service.call('get', '/payments/unmatched', undefined, KEYS.reader)).status).toBe(403);
  });
});
