import { Orders } from '../../src';
import { until } from '../support/engine';
import { anOrder, openService, type RunningService } from './running-service';

/** Every plain object answers to these, whatever was put into it. */
const NAMES = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];

describe('a name that every JavaScript object inherits', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
    for (const sku of ['apple', ...NAMES]) {
      await service.call('put', `/inventory/${sku}`, { onHand: 100 }).expect(200, { sku, onHand: 100, reserved: 0, available: 100 }); // prettier-ignore
    }
  });

  afterAll(() => service.close());

  /** The name wherever a caller may choose one. */
  const orderOf = (name: string, via: string) =>
    anOrder({
      id: `${via}-${name}`,
      merchantId: name,
      lines: [{ sku: name, quantity: 1, unitAmount: 1_999 }],
      metadata: { [name]: name },
      attempt: { provider: name, reference: `${via}-first-${name}`, merchantAccount: name },
    });
  const second = (name: string, via: string) => ({ provider: name, reference: `${via}-second-${name}` });

  const read = async (id: string) => (await service.call('get', `/orders/${id}`).expect(200)).body;
  const wanted = (name: string, via: string) => ({
    merchantId: name,
    status: 'PENDING',
    lines: [{ sku: name }],
    attempts: [{ provider: name, merchantAccount: name }, second(name, via)],
  });

  it.each(NAMES)('%s is a name like any other over HTTP', async (name) => {
    const order = orderOf(name, 'http');
    await service.call('post', '/orders', order).expect(201);
    await service.call('post', '/orders', order).expect(200);
    await service.call('post', `/orders/${order.id}/attempts`, second(name, 'http')).expect(201);
    expect(await read(order.id)).toMatchObject(wanted(name, 'http'));
    // Nobody of that name can be asked.
    await service.call('post', `/orders/${order.id}/pay-check`).expect(422, /PROVIDER_NOT_CONFIGURED/);
    const money = { ...second(name, 'http'), amount: 1_999, currency: 'EUR', transactionId: name };
    await service.call('post', `/orders/${order.id}/paid`, money).expect(200);
    await service.call('post', '/orders', { ...anOrder(), id: name }).expect(201);
    await service.call('get', `/orders/${name}/history`).expect(200);
    await service.call('post', `/payments/${name}/notify`, {}, null).expect(404, /posts notifications here/);
    await service.call('post', '/timeouts/parked/replay', { timeouts: [{ kind: name, key: name }] }).expect(200, { count: 0 }); // prettier-ignore
    await service.call('get', `/timeouts/parked?afterKind=${name}&afterKey=${name}`).expect(200);
    await service.call('get', '/orders/o-1?').set(name, 'x').expect(404);
  });

  it.each(NAMES)('%s is an unknown field where no name is wanted', async (name) => {
    const body = JSON.stringify(anOrder()).replace('{', `{"${name}":{"amount":1},`);
    const { status, body: problem } = await service.call('post', '/orders', body);
    expect({ status, problem }).toMatchObject({ status: 400, problem: { code: 'VALIDATION_FAILED' } });
    await service.call('post', '/orders', { ...anOrder(), currency: name }).expect(400);
  });

  it.each(NAMES)('%s is a name like any other over AMQP', async (name) => {
    const order = orderOf(name, 'amqp');
    service.command('order.placed', order, { messageId: `placed-${name}`, headers: { [name]: 'x' } });
    service.command('payment.attempted', { orderId: order.id, ...second(name, 'amqp') });
    await until(async () => (await service.call('get', `/orders/${order.id}`)).status === 200);
    await until(async () => ((await read(order.id)).attempts as unknown[]).length === 2);
    expect(await read(order.id)).toMatchObject(wanted(name, 'amqp'));
    service.command(name, {}, { messageId: `unknown-${name}` });
    await until(() => service.parked.some(({ properties }) => properties.messageId === `unknown-${name}`));
    const codes = service.parked.map(({ properties }) => properties.headers?.['x-ot-error-code'] as unknown);
    expect(codes.filter((code) => code !== 'UNKNOWN_COMMAND')).toEqual([]);
  });

  it.each(NAMES)('%s is a name like any other for a caller in the same process', async (name) => {
    const order = orderOf(name, 'module');
    expect(await service.app.get(Orders).place(order)).toMatchObject({ outcome: 'placed' });
    const registered = await service.app.get(Orders).registerAttempt({ orderId: order.id, ...second(name, 'module') });
    expect(registered).toMatchObject({ outcome: 'registered', order: wanted(name, 'module') });
  });
});
