import { type ConsumeMessage } from 'amqplib';
import { until } from '../support/engine';
import { anOrder, bodyOf, openService, type RunningService, withFaultOf } from './running-service';

/** How long a command waits for its order: src/api/amqp/commands.controller.ts. */
const PATIENCE_MS = 1_000;

describe('commands over AMQP', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
    await service.call('put', '/inventory/apple', { onHand: 100 }).expect(200);
  });

  afterAll(() => service.close());

  const read = async (id: string): Promise<Record<string, unknown>> =>
    (await service.call('get', `/orders/${id}`)).body;

  const reaches = (id: string, status: string): Promise<void> => until(async () => (await read(id)).status === status);

  async function parkedFor(messageId: string): Promise<ConsumeMessage> {
    const find = () => service.parked.find(({ properties }) => properties.messageId === messageId);
    await until(() => find() !== undefined);
    return find() as ConsumeMessage;
  }

  it('places, tries, extends and pays an order', async () => {
    const order = anOrder();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    service.command('order.placed', order, { appId: 'php-shop', headers: { traceparent } });
    await reaches(order.id, 'PENDING');
    service.command('payment.attempted', { orderId: order.id, provider: 'p', reference: order.id });
    await until(async () => ((await read(order.id)).attempts as unknown[]).length === 1);
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    service.command('order.extended', { orderId: order.id, expiresAt, reason: 'asked' });
    await until(async () => (await read(order.id)).expiresAt === expiresAt);
    service.command('order.paid', {
      orderId: order.id,
      provider: 'p',
      reference: order.id,
      amount: 1_999,
      currency: 'EUR',
    });
    await reaches(order.id, 'PAID');
    const { body } = await service.call('get', `/orders/${order.id}/history`);
    expect(body[0]).toMatchObject({ to: 'PENDING', cause: 'command', actor: 'php-shop', traceparent });
  });

  it('cancels an order', async () => {
    const order = anOrder();
    service.command('order.placed', order);
    await reaches(order.id, 'PENDING');
    service.command('order.cancelled', { orderId: order.id, reason: 'no' });
    await reaches(order.id, 'CANCELLED');
  });

  it('takes the same command twice without harm', async () => {
    const order = anOrder();
    service.command('order.placed', order, { messageId: 'twice-1' });
    service.command('order.placed', order, { messageId: 'twice-2' });
    service.command('order.cancelled', { orderId: order.id });
    service.command('order.cancelled', { orderId: order.id });
    await reaches(order.id, 'CANCELLED');
    const { body } = await service.call('get', `/orders/${order.id}/history`);
    expect(body).toHaveLength(2);
    expect(service.parked.map(({ properties }) => String(properties.messageId))).not.toContain('twice-2');
  });

  it('works off the commands of one order in the order they were sent', async () => {
    const orders = Array.from({ length: 50 }, () => anOrder());
    for (const { id, amount, currency, ...rest } of orders) {
      service.command('order.placed', { id, amount, currency, ...rest });
      service.command('order.paid', { orderId: id, provider: 'p', reference: id, amount, currency });
    }
    for (const { id } of orders) await reaches(id, 'PAID');
    expect(service.parked).toEqual([]);
  });

  it('waits for an order that another instance is still placing', async () => {
    let order = anOrder();
    // On a busy machine, placing may take longer than the commands wait: then it is tried again.
    await until(async () => {
      order = anOrder();
      return (await placedAfterItsCommands(order)) < PATIENCE_MS;
    });
    await reaches(order.id, 'CANCELLED');
    await reaches(`${order.id}-b`, 'PAID');
  });

  /** Two orders, one of which is canceled and one paid before they are there. @returns how long placing took, milliseconds */
  async function placedAfterItsCommands(order: ReturnType<typeof anOrder>): Promise<number> {
    const beganAt = performance.now();
    const other = `${order.id}-b`;
    service.command('order.cancelled', { orderId: order.id });
    const payment = { provider: 'p', reference: other, amount: order.amount, currency: order.currency };
    service.command('order.paid', { orderId: other, ...payment });
    const orders = [order, { ...order, id: other }];
    await Promise.all(orders.map((one) => service.call('post', '/orders', one).expect(201)));
    return performance.now() - beganAt;
  }

  it('does not keep a payment waiting behind commands of orders that it does not know', async () => {
    // On a busy machine, all may be done at once: then it is tried again.
    await until(async () => {
      const order = anOrder();
      await service.call('post', '/orders', order).expect(201);
      for (let i = 0; i < 64; i += 1) {
        service.command('order.cancelled', { orderId: `${order.id}-${i}` }, { messageId: `${order.id}-${i}` });
      }
      const payment = { provider: 'p', reference: order.id, amount: order.amount, currency: order.currency };
      service.command('order.paid', { orderId: order.id, ...payment });
      await reaches(order.id, 'PAID');
      const isItsOwn = ({ properties }: ConsumeMessage): boolean => String(properties.messageId).startsWith(order.id);
      return service.parked.filter(isItsOwn).length < 16;
    });
  });

  it('keeps a payment for an unknown order as an unmatched payment, and reports it', async () => {
    service.command('order.paid', { orderId: 'ghost', provider: 'p', reference: 'g', amount: 7, currency: 'EUR' });
    const isLate = (event: ConsumeMessage): boolean =>
      event.fields.routingKey === 'order.payment_late' && bodyOf(event).orderId === 'ghost';
    await until(() => service.events.some(isLate));
    expect(bodyOf(service.events.find(isLate))).toMatchObject({ amount: 7, reason: 'unknown-order' });
  });

  it.each([
    ['no JSON', 'order.placed', '{"id":', 'INVALID_JSON', 'not JSON'],
    ['a bad field', 'order.placed', anOrder({ amount: -1 }), 'VALIDATION_FAILED', 'amount must be an integer from 1'],
    ['an unknown field', 'order.cancelled', { orderId: 'x', why: 1 }, 'VALIDATION_FAILED', 'why is not a known field'],
    [
      'a mistyped command',
      'order.payed',
      { orderId: 'x' },
      'UNKNOWN_COMMAND',
      'no handler for routing key "order.payed"',
    ],
    ['no object', 'order.placed', 'null', 'VALIDATION_FAILED', 'JSON object'],
    ['an unknown order', 'order.cancelled', { orderId: 'ghost' }, 'ORDER_NOT_FOUND', 'there is no order "ghost"'],
    [
      'no stock',
      'order.placed',
      anOrder({ lines: [{ sku: 'apple', quantity: 101, unitAmount: 1 }] }),
      'OUT_OF_STOCK',
      'of 101',
    ],
    [
      'an attempt on nothing',
      'payment.attempted',
      { orderId: 'ghost', provider: 'p', reference: 'r' },
      'ORDER_NOT_FOUND',
      'ghost',
    ],
  ])('parks %s with the reason', async (_, name, body, code, reason) => {
    const messageId = `bad-${code}-${reason}`;
    service.command(name, body, { messageId, headers: { tenant: 'a' } });
    const { properties, fields, content } = await parkedFor(messageId);
    expect(properties.headers).toMatchObject({ 'x-ot-error-code': code, tenant: 'a' });
    expect(properties.headers?.['x-ot-error-reason']).toContain(reason);
    expect(fields.routingKey).toBe(name);
    expect(content.toString()).toBe(typeof body === 'string' ? body : JSON.stringify(body));
  });

  it('parks another order under a known id', async () => {
    const order = anOrder();
    service.command('order.placed', order);
    await reaches(order.id, 'PENDING');
    service.command('order.placed', { ...order, amount: 1 }, { messageId: 'other-content' });
    expect((await parkedFor('other-content')).properties.headers).toMatchObject({ 'x-ot-error-code': 'ORDER_EXISTS' });
  });

  it('tries a command again after a fault, on a classic queue more than once', async () => {
    const order = anOrder();
    await withFaultOf(service, 'order_line', async (times) => {
      service.command('order.placed', order, { messageId: 'fault' });
      await until(async () => (await times()) >= 3);
    });
    await reaches(order.id, 'PENDING');
    expect(service.parked.filter(({ properties }) => properties.messageId === 'fault')).toEqual([]);
  });

  it('pays no order by the registered reference of another one', async () => {
    const [theirs, mine] = [anOrder(), anOrder()];
    for (const { id, ...order } of [theirs, mine])
      service.command('order.placed', { id, ...order, attempt: { provider: 'p', reference: id } });
    await reaches(mine.id, 'PENDING');
    await reaches(theirs.id, 'PENDING');
    const money = { provider: 'p', reference: mine.id, amount: 1_999, currency: 'EUR', transactionId: theirs.id };
    service.command('order.paid', { orderId: mine.id, ...money });
    const rowsOf = async () =>
      service.database.dataSource.query<object[]>(
        `SELECT reason, handling FROM order_timeout.unmatched_payment WHERE order_id = $1`,
        [mine.id],
      );
    await until(async () => (await rowsOf()).length > 0);
    expect(await rowsOf()).toEqual([{ reason: 'attempt-mismatch', handling: 'kept' }]);
    expect((await read(mine.id)).status).toBe('PENDING');
  });
});
