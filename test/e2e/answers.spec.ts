import { RabbitClient } from '../../src/rabbit';
import { type RabbitConnection } from '../../src/rabbit/rabbit-connection';
import { until } from '../support/engine';
import { stretched } from '../support/machine-load';
import { killConnections } from '../integration/rabbit/kill-connections';
import { AskingClient } from './asking-client';
import { anOrder, bodyOf, openService, PREFIX, type RunningService, withFaultOf } from './running-service';

describe('answers to commands', () => {
  let service: RunningService;
  let client: AskingClient;

  beforeAll(async () => {
    service = await openService();
    await service.call('put', '/inventory/apple', { onHand: 100 }).expect(200);
    client = await AskingClient.open(service.vhost.url);
  });

  afterAll(async () => {
    await client.close();
    await service.close();
  });

  beforeEach(() => {
    client.answers.splice(0);
    service.parked.splice(0);
  });

  const ask: AskingClient['ask'] = (...given) => client.ask(...given);
  const countOf = async (id: string): Promise<number> =>
    (await service.database.dataSource.query<unknown[]>('SELECT 1 FROM order_timeout.orders WHERE id = $1', [id]))
      .length;
  const eventsOf = (type: string, orderId: string | null): Record<string, unknown>[] =>
    service.events.map(bodyOf).filter((event) => event.type === type && event.orderId === orderId);

  it('say how a command ended, once its transaction has committed', async () => {
    const order = anOrder();
    const id = client.send('order.placed', order);
    const { properties, content } = await client.messageFor(id);
    expect(await countOf(order.id)).toBe(1);
    expect(properties).toMatchObject({ correlationId: id, type: 'order.placed', contentType: 'application/json' });
    const { body: read } = await service.call('get', `/orders/${order.id}`);
    expect(JSON.parse(content.toString())).toEqual({ outcome: 'placed', order: { ...read } });
  });

  it('repeat the stored order when the command is repeated', async () => {
    const order = anOrder();
    await ask('order.placed', order);
    await ask('order.cancelled', { orderId: order.id });
    const again = await ask('order.placed', order);
    expect(again).toMatchObject({ outcome: 'replayed', order: { id: order.id, status: 'CANCELLED' } });
  });

  it('are the results of the use cases', async () => {
    const order = anOrder();
    const orderId = order.id;
    await ask('order.placed', order);
    const attempt = { orderId, provider: 'p', reference: orderId };
    expect(await ask('payment.attempted', attempt)).toMatchObject({ outcome: 'registered', order: { id: orderId } });
    expect(await ask('payment.attempted', attempt)).toMatchObject({ outcome: 'replayed' });
    expect(await ask('order.extended', { orderId, byMs: 1_000 })).toMatchObject({ outcome: 'extended' });
    const money = { ...attempt, amount: 1_999, currency: 'EUR' };
    expect(await ask('order.paid', money)).toMatchObject({ outcome: 'paid', order: { status: 'PAID' } });
    expect(await ask('order.paid', { ...money, orderId: 'ghost' })).toMatchObject({ outcome: 'unknown-order' });
    const { error } = await ask('order.cancelled', { orderId });
    expect(error).toEqual({
      code: 'ORDER_NOT_CANCELLABLE',
      message: `order "${orderId}" is PAID and cannot be canceled`,
      orderStatus: 'PAID',
    });
  });

  it('tell a sender why its order was refused, so that nothing is parked', async () => {
    const order = anOrder({ lines: [{ sku: 'apple', quantity: 101, unitAmount: 1 }] });
    const { error } = await ask('order.placed', order, { messageId: 'refused-1' });
    expect(error).toMatchObject({ code: 'OUT_OF_STOCK', shortages: [{ sku: 'apple', wanted: 101 }] });
    await until(() => eventsOf('order.refused', order.id).length === 1);
    expect(service.parked).toEqual([]);
  });

  it.each<[string, string, unknown, string]>([
    ['no JSON', 'order.placed', '{"id":', 'INVALID_JSON'],
    ['a bad field', 'order.cancelled', { orderId: 'a b' }, 'VALIDATION_FAILED'],
    ['a mistyped command', 'order.payed', {}, 'UNKNOWN_COMMAND'],
    ['an unknown order', 'order.cancelled', { orderId: 'ghost' }, 'ORDER_NOT_FOUND'],
  ])('refuse %s', async (_, name, body, code) => {
    expect(await ask(name, body)).toMatchObject({ error: { code, message: expect.any(String) as string } });
    expect(service.parked).toEqual([]);
  });

  it('hide a fault of ours from the sender, and park its command', async () => {
    const { error } = await withFaultOf(service, 'order_line', () =>
      ask('order.placed', anOrder(), { messageId: 'fault' }),
    );
    expect(error).toEqual({
      code: 'HANDLER_FAILED',
      message: 'an unexpected error occurred; the command is parked, and the log has the error',
    });
    await until(() => service.parked.length === 1);
    expect(service.parked[0]?.properties.headers?.['x-ot-error-reason']).toContain('order_line');
  });

  it('go to a queue of the sender too, and need no correlation id', async () => {
    const { queue } = await client.channel.assertQueue('', { exclusive: true });
    await client.listen(queue);
    client.send('stock.read', { sku: 'apple' }, { replyTo: queue, correlationId: undefined });
    await until(() => client.answers.length === 1);
    expect(client.answers[0]?.properties.correlationId).toBeUndefined();
    expect(bodyOf(client.answers[0])).toMatchObject({ sku: 'apple' });
  });

  it('are dropped when nobody waits anymore, and the command stands', async () => {
    const order = anOrder();
    client.send('order.placed', order, { replyTo: 'amq.gen-gone' });
    await until(async () => (await countOf(order.id)) === 1);
    // Runs after the command before it, which has the same order.
    expect(await ask('order.cancelled', { orderId: order.id })).toMatchObject({ outcome: 'cancelled' });
    expect(service.parked).toEqual([]);
  });

  it.each(['amq.gen-gone', 'amq.rabbitmq.reply-to.g1h2'])(
    'that refuse, and that nobody waits for at %s, leave the command parked',
    async (replyTo) => {
      client.send('order.cancelled', { orderId: 'ghost' }, { replyTo });
      await until(() => service.parked.length === 1);
      expect(service.parked[0]?.properties.headers).toMatchObject({ 'x-ot-error-code': 'ORDER_NOT_FOUND' });
    },
  );

  // RabbitMQ up to 3.13 closes the connection for an answer to the last two (541).
  it.each<[string, (address: string) => string]>([
    ['cut', (address) => address.slice(0, -12)],
    ['malformed', (address) => address.replace(/(g1h)./, '$13')],
    ['of another cluster', (address) => address.replace(/(g1h.{6}).{8}/, '$1c3RyYW5n')],
  ])(
    'that cannot arrive, because their address is %s, cost no time and no connection of the events',
    async (_, changed) => {
      const rabbit = service.app.get(RabbitClient);
      const { publishing } = rabbit as unknown as { publishing: RabbitConnection };
      const { model } = publishing;
      const sending = jest.spyOn(rabbit.replies, 'send');
      await ask('stock.read', { sku: 'apple' });
      const address = String(sending.mock.calls[0]?.[0].replyTo);
      const order = anOrder();
      client.send('order.placed', order, { replyTo: changed(address) });
      await until(() => sending.mock.calls.length === 2);
      const [sentAt, limitMs] = [Date.now(), stretched(4_000)];
      await sending.mock.results[1]?.value;
      expect(Date.now() - sentAt).toBeLessThan(limitMs);
      expect(await countOf(order.id)).toBe(1);
      expect(publishing.model === model).toBe(true);
      sending.mockRestore();
    },
  );

  it.each([
    ...[`${PREFIX}.work.order.payment`, `${PREFIX}.parked`, `${PREFIX}.commands`, 'a\u0000b', 'a\uFFFDb'],
    ...['billing', 'order-timeout.v2.commands'],
  ])('never go to %j, whose command is parked instead of run', async (replyTo) => {
    const order = anOrder();
    client.send('order.placed', order, { replyTo });
    await until(() => service.parked.length > 0);
    expect(service.parked[0]?.properties.headers).toMatchObject({ 'x-ot-error-code': 'INVALID_REPLY_TO' });
    // Runs after the command before it, which has the same order.
    expect(await ask('order.read', { orderId: order.id })).toMatchObject({ error: { code: 'ORDER_NOT_FOUND' } });
    expect(service.parked).toHaveLength(1);
    expect(await countOf(order.id)).toBe(0);
  });

  it('are sent again if the service loses the command after the answer', async () => {
    const order = anOrder();
    const { replies } = service.app.get(RabbitClient);
    const send = replies.send.bind(replies);
    const sending = jest.spyOn(replies, 'send').mockImplementationOnce(async (...given) => {
      await send(...given);
      await killConnections(service.vhost, ':consume');
      await until(() => given[0].isAcknowledged);
      return true;
    });
    client.send('order.placed', order, { correlationId: 'twice' });
    await until(() => client.answers.length === 2, 20_000);
    sending.mockRestore();
    expect(client.answers.map((answer) => bodyOf(answer).outcome)).toEqual(['placed', 'replayed']);
    expect(client.answers.map(({ properties }) => properties.correlationId as unknown)).toEqual(['twice', 'twice']);
  });

  it('carry stock and its changes', async () => {
    const level = { sku: 'pear', onHand: 5, reserved: 0, available: 5 };
    expect(await ask('stock.changed', { sku: 'pear', onHand: 5 })).toEqual(level);
    expect(await ask('stock.changed', { sku: 'pear', add: 2 })).toMatchObject({ onHand: 7 });
    const { error } = await ask('stock.changed', { sku: 'pear', onHand: 9, expected: 5 });
    expect(error).toMatchObject({ code: 'STOCK_CHANGED', onHand: 7 });
    await ask('stock.changed', { sku: 'own', onHand: 1, merchantId: 'a' });
    expect(await ask('stock.read', { sku: 'own' })).toMatchObject({ onHand: 1, merchantId: 'a' });
    const taken = await ask('stock.changed', { sku: 'pear', onHand: 1, merchantId: 'a' });
    expect(taken).toMatchObject({ error: { code: 'SKU_OF_ANOTHER_MERCHANT' } });
    expect(await ask('stock.read', { sku: 'pear' })).toMatchObject({ onHand: 7 });
    expect(await ask('stock.read', { sku: 'ghost' })).toMatchObject({ error: { code: 'SKU_NOT_FOUND' } });
  });

  it('carry orders and pages of them', async () => {
    const orders = Array.from({ length: 3 }, () => anOrder({ merchantId: 'pages', lines: [] }));
    for (const order of orders) await ask('order.placed', order);
    const [first, second, third] = orders.map(({ id }) => id);
    expect(await ask('order.read', { orderId: first })).toMatchObject({ id: first, status: 'PENDING' });
    expect(await ask('order.read', { orderId: 'ghost' })).toMatchObject({ error: { code: 'ORDER_NOT_FOUND' } });
    const page = await ask('orders.read', { merchantId: 'pages', status: ['PENDING'], limit: 2 });
    expect(page).toMatchObject({ orders: [{ id: third }, { id: second }] });
    const rest = await ask('orders.read', { merchantId: 'pages', cursor: page.next });
    expect(rest).toMatchObject({ orders: [{ id: first }], next: null });
  });

  it('are what a request is for: one without a queue for it is parked', async () => {
    service.command('order.read', { orderId: 'any' });
    await until(() => service.parked.length === 1);
    expect(service.parked[0]?.properties.headers).toMatchObject({ 'x-ot-error-code': 'REPLY_TO_MISSING' });
  });

  it('are not needed to learn that an order was refused', async () => {
    const order = anOrder({ amount: -1, merchantId: 'm-1' });
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    service.command('order.placed', order, { messageId: 'silent', headers: { traceparent } });
    await until(() => eventsOf('order.refused', order.id).length === 1);
    expect(eventsOf('order.refused', order.id)).toEqual([
      {
        id: expect.any(String) as string,
        type: 'order.refused',
        version: 1,
        occurredAt: expect.stringMatching(/Z$/) as string,
        orderId: order.id,
        merchantId: 'm-1',
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining('amount must be') as string,
        commandId: 'silent',
      },
    ]);
    service.command('order.placed', { id: 'not an id' });
    await until(() => eventsOf('order.refused', null).length === 1);
  });
});
