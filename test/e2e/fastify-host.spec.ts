import { OperationsModule, OrderTimeoutModule } from '../../src';
import { ROUTES } from '../../src/api/http/problem.filter';
import { apiKeyEntry } from '../support/servers/service-environment';
import { createDatabase, type TestDatabase } from '../support/database';
import { firstThat } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { blankProvider } from './blank-provider';
import { type AdapterName, openHost, type RunningHost } from './open-host';
import { type Method } from './running-service';

const KEY = { 'x-api-key': 'key-of-shop' };
const READER = { 'x-api-key': 'key-of-reader' };
const reason = 'the buyer called';
const order = (id: string, more: object = {}) => ({
  ...{ id, amount: 500, currency: 'EUR', paymentWindowMs: 600_000, lines: [] },
  ...more,
});
const payment = (reference: string) => ({ provider: 'posting', reference, amount: 500, currency: 'EUR' });
const parked = { timeouts: [{ kind: 'order.payment', key: 'o-1' }] };
const NOBODY = '00000000-0000-4000-8000-000000000000';

type Step = readonly [
  method: Method,
  path: string,
  body?: object | string | undefined,
  headers?: Record<string, string>,
];

/** Every route, and every kind of refusal that is not the HTTP server's own. */
const STEPS: readonly Step[] = [
  ['put', '/inventory/apple', { onHand: 5 }],
  ['put', '/inventory/apple', { onHand: 5, expected: 4 }],
  ['get', '/inventory/apple'],
  ['get', '/inventory/pear'],
  [
    'post',
    '/orders',
    order('o-1', { lines: [{ sku: 'apple', quantity: 2, unitAmount: 250 }] }),
    { 'idempotency-key': 'k' },
  ],
  [
    'post',
    '/orders',
    order('o-1', { lines: [{ sku: 'apple', quantity: 2, unitAmount: 250 }] }),
    { 'idempotency-key': 'k' },
  ],
  ['post', '/orders', order('o-2'), { 'idempotency-key': 'k' }],
  ['post', '/orders', order('o-3', { lines: [{ sku: 'apple', quantity: 9, unitAmount: 1 }] })],
  ['post', '/orders', order('bad', { amount: -1 })],
  ['post', '/orders', order('typo', { amuont: 1 })],
  ['post', '/orders'],
  ['post', '/orders/bulk', { orders: [order('b-1'), order('b-2'), order('b-1', { amount: 7 })] }],
  ['get', '/orders?status=PENDING&limit=50'],
  ['get', '/orders?limit=0'],
  ['post', '/orders/bulk/actions/extend', { filter: { reference: 'r-9' }, byMs: 1_000, actionId: 'a-1', reason }],
  ['post', '/orders/bulk/actions/cancel', { filter: {}, reason }],
  ['get', '/orders/o-1'],
  ['get', '/orders/o-1/history'],
  ['get', '/orders/nobody'],
  ['get', '/orders/%20'],
  ['get', '/orders/o-1', undefined, { 'x-api-key': 'wrong' }],
  ['put', '/inventory/apple', { onHand: 1 }, READER],
  ['post', '/orders/o-1/attempts', { provider: 'posting', reference: 'r-1' }],
  ['post', '/orders/o-1/attempts', { provider: 'posting', reference: 'r-1' }],
  ['post', '/orders/o-1/attempts', { provider: 'nobody', reference: 'r-1' }],
  ['post', '/orders/o-1/pay-check'],
  ['post', '/orders/o-1/extend', { byMs: 1_000 }],
  ['post', '/orders/o-1/auto-close', { enabled: false }],
  ['post', '/payments/posting/notify', '{"reference":"r-1","amount":500}'],
  ['post', '/payments/posting/notify', '{"reference":"r-1","amount":500} '],
  ['post', '/payments/unknown/notify', '{}'],
  ['get', '/orders/o-1'],
  ['post', '/orders/b-1/paid', payment('r-2')],
  ['post', '/orders/nobody/paid', payment('r-3')],
  // It is open. An order that is paid has an open item only until its event is sent.
  ['post', '/orders/b-2/erase', { reason }],
  ['post', '/orders/b-2/cancel', { reason }],
  ['post', '/orders/b-2/cancel'],
  ['post', '/orders/b-2/revive', { reason }],
  ['post', '/orders/b-2/close', { reason }],
  ['post', '/orders/b-1/refund', { provider: 'posting', reference: 'r-2', reason }],
  ['get', '/payments/unmatched?limit=5'],
  ['get', '/payments/unmatched?limit=0'],
  ['post', `/payments/unmatched/${NOBODY}/settle`, { reason }],
  ['post', `/payments/unmatched/${NOBODY}/assign`, { orderId: 'b-2', reason }],
  ['get', '/timeouts/parked?limit=5'],
  ['post', '/timeouts/parked/replay', parked],
  ['post', '/timeouts/parked/discard', parked],
  ['post', '/timeouts/republish'],
  ['get', '/health/live'],
  ['get', '/health/ready'],
  ['get', '/metrics', undefined, { accept: 'text/plain' }],
  ['get', '/openapi.json'],
  ['get', '/asyncapi.json'],
  ['get', '/docs'],
  ['get', '/docs/swagger-ui.css'],
  ['get', '/docs/nothing.js'],
];

/** What differs from run to run: times, ids, the values of metrics, and the kinds of garbage collections so far. */
function withoutChance(text: string): string {
  return text
    .replace(/"\d{4}-\d\d-\d\dT[^"]*Z"/g, '"(time)"')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '(id)')
    .replace(/^nodejs_gc_.*\n/gm, '')
    .replace(/^(\w+(?:\{[^}]*\})?) .*$/gm, '$1');
}

describe('a host on Fastify', () => {
  let databases: TestDatabase[];
  let vhosts: TestVhost[];
  const hosts: Partial<Record<AdapterName | 'limited', RunningHost>> = {};

  beforeAll(async () => {
    databases = await Promise.all([createDatabase(), createDatabase()]);
    vhosts = await Promise.all([createVhost(), createVhost()]);
    for (const [index, adapter] of (['express', 'fastify'] as const).entries())
      hosts[adapter] = await open(adapter, index, 0);
    hosts.limited = await open('fastify', 1, 2);
  });
  afterAll(async () => {
    for (const { app } of Object.values(hosts)) await app.close();
    for (const one of [...databases, ...vhosts]) await one.drop();
  });

  /** @param perSecond each of the rate limits; 0 for none */
  function open(adapter: AdapterName, index: number, perSecond: number): Promise<RunningHost> {
    const [database, vhost] = [databases[index], vhosts[index]];
    if (!database || !vhost) throw new Error('each host has its own servers');
    const module = OrderTimeoutModule.forRoot({
      dataSource: database.dataSource,
      rabbit: { urls: [vhost.url], queueType: 'classic' },
      transport: 'none',
      providers: [blankProvider],
      http: true,
      contract: true,
      apiKeys: [apiKeyEntry('shop', 'key-of-shop', '*'), apiKeyEntry('reader', 'key-of-reader', 'orders:read')],
      rateLimits: { perKey: perSecond, failuresPerAddress: perSecond, forgeriesPerAddress: perSecond },
    });
    return openHost({ adapter, imports: [module, OperationsModule.forRoot({ defaultMetrics: false })] });
  }

  const on = (name: keyof typeof hosts): RunningHost => {
    const host = hosts[name];
    if (!host) throw new Error(`${name} is not open`);
    return host;
  };

  /** What the host answers, as far as it must be the same on each HTTP server. */
  async function answerOf(adapter: AdapterName, [method, path, body, headers]: Step) {
    const { status, text, headers: answered } = await on(adapter).call(method, path, body, { ...KEY, ...headers });
    const { 'content-type': type = '', ...others } = answered;
    const special = Object.entries(others).filter(([name]) =>
      /^(www-authenticate|retry-after|cache-control)$/.test(name),
    );
    // Where the charset stands, and whether it is named, is the server's habit.
    return { status, type: type.replace(/; charset=utf-8/i, ''), special, text: withoutChance(text) };
  }

  it('answers every route as Express does', async () => {
    const paths = STEPS.map(([, path]) => path.replace(/\?.*/, ''));
    expect(ROUTES.filter(({ path }) => !paths.some((one) => path.test(one)))).toEqual([]);
    for (const step of STEPS) {
      const [fastify, express] = [await answerOf('fastify', step), await answerOf('express', step)];
      expect([step, fastify]).toEqual([step, express]);
    }
  });

  it.each(['express', 'fastify'] as const)('on %s has the effects that the answers tell of', async (adapter) => {
    const { call } = on(adapter);
    expect(await call('get', '/orders/o-1', undefined, KEY)).toMatchObject({ status: 200, body: { status: 'PAID' } });
    expect(await call('get', '/orders/b-2', undefined, KEY)).toMatchObject({ body: { status: 'CANCELLED' } });
    expect(await call('get', '/inventory/apple', undefined, KEY)).toMatchObject({ body: { onHand: 3, reserved: 0 } });
  });

  it.each([
    ['requests with one key', '/orders/nobody', 'get', KEY],
    ['guesses of a key', '/orders/nobody', 'get', { 'x-api-key': 'guess' }],
    ['forged notifications', '/payments/posting/notify', 'post', {}],
  ] as const)('limits the rate of %s', async (_, path, method, headers) => {
    const body = method === 'post' ? '{}' : undefined;
    const send = () => on('limited').call(method, path, body, { ...headers });
    const refused = await firstThat(send, ({ status }) => status === 429);
    expect(refused).toMatchObject({ headers: { 'retry-after': '1' }, body: { code: 'RATE_LIMITED' } });
  });
});
