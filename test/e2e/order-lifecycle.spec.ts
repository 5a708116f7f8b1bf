import { until } from '../support/engine';
import { anOrder, bodyOf, openService, type RunningService } from './running-service';
import { stretched } from '../support/machine-load';

describe('the life of an order, through HTTP', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
    await service.call('put', '/inventory/apple', { onHand: 1_000 }).expect(200);
  });

  afterAll(() => service.close());

  const statusOf = async (id: string): Promise<string> => (await service.call('get', `/orders/${id}`)).body.status;

  it('closes an order that nobody pays, at its deadline, with history, stock and event', async () => {
    const order = anOrder({ paymentWindowMs: stretched(1_200) });
    const { body: before } = await service.call('get', '/inventory/apple').expect(200);
    const { body: placed } = await service.call('post', '/orders', order).expect(201);
    expect(placed).toMatchObject({
      id: order.id,
      status: 'PENDING',
      version: 1,
      amount: 1_999,
      expired: false,
      payable: true,
    });
    const { body: held } = await service.call('get', '/inventory/apple').expect(200);
    expect(held).toEqual({ ...before, reserved: before.reserved + 1, available: before.available - 1 });

    await until(async () => (await statusOf(order.id)) === 'CLOSED');

    const { body: history } = await service.call('get', `/orders/${order.id}/history`).expect(200);
    expect(history).toMatchObject([
      { version: 1, from: null, to: 'PENDING', cause: 'api', actor: 'shop' },
      { version: 2, from: 'PENDING', to: 'CLOSED' },
    ]);
    const [, closing] = history as unknown as { occurredAt: string }[];
    const lateMs = Date.parse(closing?.occurredAt ?? '') - Date.parse(placed.expiresAt);
    expect(lateMs).toBeGreaterThanOrEqual(0);
    await service.call('get', '/inventory/apple').expect(200, before);
    await until(() => service.events.some((event) => bodyOf(event).orderId === order.id));
    const closed = service.events.find((event) => bodyOf(event).orderId === order.id);
    expect(closed?.fields.routingKey).toBe('order.closed');
    expect(closed?.properties).toMatchObject({ messageId: bodyOf(closed).id, deliveryMode: 2 });
    expect(bodyOf(closed)).toMatchObject({ type: 'order.closed', version: 1, orderVersion: 2, amount: 1_999 });
  });

  it('takes an attempt and the report of its payment, once', async () => {
    const order = anOrder();
    await service.call('post', '/orders', order).expect(201);
    const attempt = { provider: 'http', reference: `ref-${order.id}` };
    const { body: attempted } = await service.call('post', `/orders/${order.id}/attempts`, attempt).expect(201);
    expect(attempted.attempts).toMatchObject([{ ...attempt, status: 'OPEN', amount: 1_999, currency: 'EUR' }]);
    await service.call('post', `/orders/${order.id}/attempts`, attempt).expect(200);

    const payment = { ...attempt, amount: 1_999, currency: 'EUR', transactionId: 'tx-1' };
    const { body: paid } = await service.call('post', `/orders/${order.id}/paid`, payment).expect(200);
    expect(paid).toMatchObject({ outcome: 'paid', order: { status: 'PAID', payable: false } });
    const { body: again } = await service.call('post', `/orders/${order.id}/paid`, payment).expect(200);
    expect(again.outcome).toBe('already-paid');
    await until(() => service.events.some((event) => event.fields.routingKey === 'order.paid'));
  });

  it('answers a repeated order with 200 and the order as it is now', async () => {
    const order = anOrder();
    await service.call('post', '/orders', order).expect(201);
    await service.call('post', `/orders/${order.id}/cancel`, { reason: 'changed my mind' }).expect(200);
    const { body } = await service.call('post', '/orders', order).expect(200);
    expect(body).toMatchObject({ id: order.id, status: 'CANCELLED' });
  });

  it('cancels without a body', async () => {
    const order = anOrder();
    await service.call('post', '/orders', order).expect(201);
    const { body } = await service.call('post', `/orders/${order.id}/cancel`).expect(200);
    expect(body.status).toBe('CANCELLED');
  });

  it('erases the personal data of a finished order', async () => {
    const order = anOrder({ metadata: { name: 'Jane Doe' } });
    await service.call('post', '/orders', order).expect(201);
    await service.call('post', `/orders/${order.id}/cancel`, { reason: 'Jane called' }).expect(200);
    // Refused while the event of the cancellation is on its way.
    const erase = () => service.call('post', `/orders/${order.id}/erase`, { reason: 'request 4711' });
    await until(async () => (await erase()).status === 200);
    const { body } = await erase().expect(200);
    expect(body).toMatchObject({ id: order.id, status: 'CANCELLED', amount: 1_999, version: 3 });
    expect(body).not.toHaveProperty('metadata');
    const { body: history } = await service.call('get', `/orders/${order.id}/history`).expect(200);
    expect(history).toMatchObject([
      { actor: null },
      { to: 'CANCELLED', actor: null, reason: null },
      { to: 'CANCELLED', cause: 'operator', actor: 'shop', reason: 'request 4711' },
    ]);
  });

  it('answers a repeated idempotency key with the same order', async () => {
    const order = anOrder();
    await service.call('post', '/orders', order).set('Idempotency-Key', 'k1').expect(201);
    await service.call('post', '/orders', order).set('Idempotency-Key', 'k1').expect(200);
    const { body } = await service.call('post', '/orders', anOrder()).set('Idempotency-Key', 'k1').expect(422);
    expect(body.code).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('refuses an idempotency key where a repetition would change more, and takes it where none does', async () => {
    const order = anOrder();
    const { body: placed } = await service.call('post', '/orders', order).expect(201);
    const { body: stock } = await service.call('get', '/inventory/apple').expect(200);
    const send = (method: 'post' | 'put', path: string, body: object) =>
      service.call(method, path, body).set('Idempotency-Key', 'k2');
    const extended = await send('post', `/orders/${order.id}/extend`, { byMs: 60_000 }).expect(400);
    expect(extended.body).toMatchObject({
      code: 'IDEMPOTENCY_KEY_UNSUPPORTED',
      detail: expect.stringContaining('send expiresAt instead of byMs') as string,
    });
    const added = await send('put', '/inventory/apple', { add: 5 }).expect(400);
    expect(added.body).toMatchObject({
      code: 'IDEMPOTENCY_KEY_UNSUPPORTED',
      detail: expect.stringContaining('send onHand with expected instead of add') as string,
    });
    const { body: same } = await service.call('get', `/orders/${order.id}`).expect(200);
    expect(same.expiresAt).toBe(placed.expiresAt);
    await service.call('get', '/inventory/apple').expect(200, stock);

    const expiresAt = new Date(Date.parse(placed.expiresAt) + 60_000).toISOString();
    const { body: first } = await send('post', `/orders/${order.id}/extend`, { expiresAt }).expect(200);
    const { body: second } = await send('post', `/orders/${order.id}/extend`, { expiresAt }).expect(200);
    expect([first.expiresAt, second.expiresAt]).toEqual([expiresAt, expiresAt]);
    await send('put', '/inventory/apple', { onHand: stock.onHand, expected: stock.onHand }).expect(200);
    await send('post', `/orders/${order.id}/cancel`, {}).expect(200);
    await send('post', `/orders/${order.id}/cancel`, {}).expect(200);
  });

  it('moves the deadline both ways, and switches auto-close off and on', async () => {
    const order = anOrder();
    const { body: placed } = await service.call('post', '/orders', order).expect(201);
    const later = await service.call('post', `/orders/${order.id}/extend`, { byMs: 60_000 }).expect(200);
    expect(Date.parse(later.body.expiresAt) - Date.parse(placed.expiresAt)).toBe(60_000);
    const off = await service.call('post', `/orders/${order.id}/auto-close`, { enabled: false }).expect(200);
    expect(off.body.autoClose).toBe(false);
    const expiresAt = new Date(Date.now() - 1_000).toISOString();
    const passed = await service.call('post', `/orders/${order.id}/extend`, { expiresAt, reason: 'test' }).expect(200);
    expect(passed.body).toMatchObject({ expired: true, payable: true, status: 'PENDING' });
    await service.call('post', `/orders/${order.id}/auto-close`, { enabled: true }).expect(200);
    await until(async () => (await statusOf(order.id)) === 'CLOSED');
  });

  it('says in a pay-check that nobody could be asked, and answers with the order where there is nothing to ask', async () => {
    const order = anOrder({ attempt: { provider: 'nobody', reference: 'r1' } });
    await service.call('post', '/orders', order).expect(201);
    const { body } = await service.call('post', `/orders/${order.id}/pay-check`).expect(422);
    expect(body).toMatchObject({ code: 'PROVIDER_NOT_CONFIGURED', provider: 'nobody' });
    const plain = anOrder();
    await service.call('post', '/orders', plain).expect(201);
    const { body: checked } = await service.call('post', `/orders/${plain.id}/pay-check`).expect(200);
    expect(checked).toMatchObject({ id: plain.id, status: 'PENDING' });
  });

  it('places many at once, and says of each what became of it', async () => {
    const [good, known] = [anOrder(), anOrder()];
    await service.call('post', '/orders', known).expect(201);
    const orders = [
      good,
      known,
      { ...known, amount: 1 },
      anOrder({ lines: [{ sku: 'none', quantity: 1, unitAmount: 1 }] }),
    ];
    const { body } = await service.call('post', '/orders/bulk', { orders }).expect(200);
    expect(body.results).toMatchObject([
      { id: good.id, outcome: 'placed' },
      { id: known.id, outcome: 'replayed' },
      { id: known.id, outcome: 'rejected', code: 'ORDER_EXISTS' },
      { outcome: 'rejected', code: 'UNKNOWN_SKU', detail: expect.stringContaining('none') as unknown },
    ]);
  });
});
