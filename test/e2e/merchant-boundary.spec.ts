import { type NewOrder, Orders } from '../../src';
import { ROUTES } from '../../src/api/http/problem.filter';
import { makeWorld, SECRET, type World } from './two-merchants';
import { until } from '../support/engine';
import { anOrder, type Method } from './running-service';

/** The id of no unmatched payment. */
const GHOST = '00000000-0000-4000-8000-000000000009';

type Walk = (world: World) => Promise<void>;

/** Sent with the key of merchant A, about something of B: answered as if it were not there. */
const isHidden =
  (method: Method, pathOf: (id: string) => string, body?: object): Walk =>
  async ({ asA, theirs }) => {
    const found = await asA(method, pathOf(theirs.id), body);
    const missing = await asA(method, pathOf(theirs.ghost), body);
    expect(found.status).toBe(404);
    expect(found.text.replaceAll(theirs.id, theirs.ghost)).toBe(missing.text);
  };

const ofOrder = (action: string, body?: object): Walk =>
  isHidden(body || action === 'pay-check' ? 'post' : 'get', (id) => `/orders/${id}${action && `/${action}`}`, body);

const placing: Walk = async ({ asA, theirs }) => {
  const named = await asA('post', '/orders', anOrder({ merchantId: 'b', lines: [] }));
  expect(named).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  const again = await asA('post', '/orders', theirs.order);
  expect(again).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  const unnamed = { ...theirs.order, merchantId: undefined };
  const taken = await asA('post', '/orders', { ...unnamed, lines: [] });
  expect(taken).toMatchObject({ status: 409, body: { code: 'ORDER_EXISTS' } });
  const goods = { lines: [{ sku: theirs.sku, quantity: 1, unitAmount: 1 }] };
  const reserved = await asA('post', '/orders', anOrder(goods));
  expect(reserved).toMatchObject({ status: 422, body: { code: 'UNKNOWN_SKU', skus: [theirs.sku] } });
  for (const { text } of [named, again, taken, reserved]) expect(text).not.toContain(SECRET);
};

const placingMany: Walk = async (world) => {
  const { asA, theirs, service } = world;
  const mine = anOrder({ lines: [] });
  const foreign = anOrder({ merchantId: 'b', lines: [] });
  const refused = await asA('post', '/orders/bulk', { orders: [mine, foreign, theirs.order] });
  expect(refused).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  expect(refused.body.detail).toContain(`${foreign.id}, ${theirs.id}`);
  await service.call('get', `/orders/${mine.id}`).expect(404);
  const unnamed = { ...theirs.order, merchantId: undefined };
  const goods = anOrder({ lines: [{ sku: theirs.sku, quantity: 1, unitAmount: 1 }] });
  const { body, text } = await asA('post', '/orders/bulk', { orders: [{ ...unnamed, lines: [] }, goods] });
  expect(body.results).toMatchObject([{ code: 'ORDER_EXISTS' }, { code: 'UNKNOWN_SKU' }]);
  expect(text).not.toContain(SECRET);
};

/** Tried with filters that only orders of B fit. */
const bulkAction =
  (action: string, body: object): Walk =>
  async ({ asA, theirs }) => {
    const ask = (filter: object, dryRun = false) =>
      asA('post', `/orders/bulk/actions/${action}`, { ...body, filter, reason: 'r', dryRun });
    expect(await ask({ merchantId: 'b' })).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await ask({ reference: theirs.id })).body).toEqual({
      dryRun: false,
      count: 0,
      outcomes: {},
      sample: [],
      next: null,
    });
    expect((await ask({ provider: 'p' }, true)).text).not.toContain(theirs.id);
  };

const parkedList: Walk = async ({ asA, mine }) => {
  const { body } = await asA('get', '/timeouts/parked');
  expect((body as unknown as { key: string }[]).map(({ key }) => key).sort()).toEqual([...mine.parkedKeys].sort());
};

const parkedAction =
  (action: string): Walk =>
  async ({ asA, theirs }) => {
    expect((await asA('post', `/timeouts/parked/${action}`, { timeouts: theirs.parked })).body).toEqual({ count: 0 });
  };

const unmatchedAction =
  (action: string, body: object): Walk =>
  async ({ asA, theirs }) => {
    const path = (id: string) => `/payments/unmatched/${id}/${action}`;
    const missing = await asA('post', path(GHOST), body);
    expect(missing).toMatchObject({ status: 404, body: { code: 'UNMATCHED_PAYMENT_NOT_FOUND' } });
    for (const id of theirs.unmatched) {
      const found = await asA('post', path(id), body);
      expect(found.text.replaceAll(id, GHOST)).toBe(missing.text);
    }
  };

const isOpen =
  (path: string): Walk =>
  async ({ service }) => {
    const { text } = await service.call('get', path, undefined, null);
    expect(text).not.toContain(SECRET);
  };

/** What a restricted key finds at every route of the service. A new route needs its own line here. */
const CATALOGUE: Readonly<Record<string, Walk>> = {
  'POST /orders': placing,
  'POST /orders/bulk': placingMany,
  'GET /orders': async ({ asA, theirs, mine }) => {
    const { body, text } = await asA('get', '/orders?limit=200');
    const orders = body.orders as { id: string; merchantId: string }[];
    expect(orders.map(({ merchantId }) => merchantId)).toEqual(orders.map(() => 'a'));
    expect(orders.map(({ id }) => id)).toContain(mine.order);
    expect(text).not.toContain(theirs.id);
    expect(await asA('get', '/orders?merchantId=b')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    expect((await asA('get', `/orders?reference=${theirs.id}`)).body.orders).toEqual([]);
  },
  'POST /orders/bulk/actions/extend': bulkAction('extend', { actionId: 'x', byMs: 1_000 }),
  'POST /orders/bulk/actions/cancel': bulkAction('cancel', {}),
  'POST /orders/bulk/actions/close': bulkAction('close', {}),
  'GET /orders/:id': ofOrder(''),
  'GET /orders/:id/history': ofOrder('history'),
  'POST /orders/:id/attempts': ofOrder('attempts', { provider: 'p', reference: 'a-1' }),
  'POST /orders/:id/pay-check': ofOrder('pay-check'),
  'POST /orders/:id/paid': ofOrder('paid', { provider: 'p', reference: 'a-1', amount: 1_999, currency: 'EUR' }),
  'POST /orders/:id/extend': ofOrder('extend', { byMs: 1_000 }),
  'POST /orders/:id/cancel': ofOrder('cancel', {}),
  'POST /orders/:id/auto-close': ofOrder('auto-close', { enabled: false }),
  'POST /orders/:id/erase': ofOrder('erase', { reason: 'r' }),
  'POST /orders/:id/refund': ofOrder('refund', { provider: 'p', reference: 'a-1', reason: 'r' }),
  'POST /orders/:id/revive': ofOrder('revive', { reason: 'r' }),
  'POST /orders/:id/close': ofOrder('close', { reason: 'r', attemptsAreClosed: true }),
  'GET /payments/unmatched': async ({ asA, mine }) => {
    const { body } = await asA('get', '/payments/unmatched');
    expect((body as unknown as { id: string }[]).map(({ id }) => id)).toEqual([mine.unmatched]);
  },
  'POST /payments/unmatched/:id/settle': unmatchedAction('settle', { reason: 'r' }),
  'POST /payments/unmatched/:id/reopen': unmatchedAction('reopen', { reason: 'r' }),
  'POST /payments/unmatched/:id/assign': async (world) => {
    const { asA, mine, theirs } = world;
    await unmatchedAction('assign', { orderId: 'a-order:1', reason: 'r' })(world);
    const order = await asA('post', `/payments/unmatched/${mine.unmatched}/assign`, {
      orderId: theirs.id,
      reason: 'r',
    });
    expect(order).toMatchObject({ status: 404, body: { code: 'ORDER_NOT_FOUND' } });
  },
  'PUT /inventory/:sku': async ({ asA, theirs }) => {
    for (const sku of [theirs.sku, theirs.sharedSku]) {
      const { status, body, text } = await asA('put', `/inventory/${sku}`, { onHand: 1 });
      expect({ status, code: body.code }).toEqual({ status: 403, code: 'FORBIDDEN' });
      expect(text).not.toMatch(/reserved|onHand/);
    }
  },
  'GET /inventory/:sku': async ({ asA, theirs }) => {
    const found = await asA('get', `/inventory/${theirs.sku}`);
    const missing = await asA('get', '/inventory/ghost');
    expect(found.status).toBe(404);
    expect(found.text.replaceAll(theirs.sku, 'ghost')).toBe(missing.text);
  },
  'GET /timeouts/parked': parkedList,
  'POST /timeouts/parked/replay': parkedAction('replay'),
  'POST /timeouts/parked/discard': parkedAction('discard'),
  'POST /timeouts/republish': async ({ asA }) => {
    expect(await asA('post', '/timeouts/republish')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
  },
  // The provider's signature is the key: tested with the notifications.
  'POST /payments/:provider/notify': async ({ asA }) => {
    expect((await asA('post', '/payments/nobody/notify', {})).status).toBe(404);
  },
  'GET /health/live': isOpen('/health/live'),
  'GET /health/ready': isOpen('/health/ready'),
  'GET /metrics': isOpen('/metrics'),
  'GET /openapi.json': isOpen('/openapi.json'),
  'GET /asyncapi.json': isOpen('/asyncapi.json'),
  'GET /docs': isOpen('/docs'),
  'GET /docs/:file': isOpen('/docs/swagger-ui.css'),
};

interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
}

describe('a key of one merchant', () => {
  let world: World;

  beforeAll(async () => {
    world = await makeWorld();
  });
  afterAll(() => world.service.close());

  it('is tried at every route that there is', () => {
    const { router } = world.service.app.getHttpAdapter().getInstance() as unknown as { router: { stack: Layer[] } };
    const all = router.stack.flatMap(({ route }) =>
      Object.keys(route?.methods ?? {}).map((method) => `${method.toUpperCase()} ${route?.path ?? ''}`),
    );
    // The operator page takes no API key: test/e2e/operator.
    const routes = all.filter((route) => !route.includes(' /operator'));
    expect([...new Set(routes)].sort()).toEqual(Object.keys(CATALOGUE).sort());
    for (const route of routes) {
      const [method = '', path = ''] = route.split(' ');
      const known = ROUTES.find((one) => one.path.test(path.replaceAll(/:\w+/g, 'x')));
      expect([route, known?.methods.includes(method)]).toEqual([route, true]);
    }
  });

  it.each(Object.keys(CATALOGUE))('finds and changes nothing of another merchant by %s', async (route) => {
    const before = await world.theirRows();
    await CATALOGUE[route]?.(world);
    expect(await world.theirRows()).toEqual(before);
  });

  it('is refused for what is wrong with a path before anything is looked up', async () => {
    expect((await world.asA('get', '/orders/a b')).status).toBe(400);
  });

  it('opens everything of its own merchant', async () => {
    const { asA, mine } = world;
    await asA('put', `/inventory/${mine.sku}`, { onHand: 7 }).expect(200);
    const level = { sku: mine.sku, onHand: 7, reserved: 0, available: 7, merchantId: 'a' };
    await asA('get', `/inventory/${mine.sku}`).expect(200, level);
    await asA('get', `/inventory/${world.theirs.sharedSku}`).expect(200);
    const lines = [mine.sku, world.theirs.sharedSku].map((sku) => ({ sku, quantity: 1, unitAmount: 1 }));
    const order = anOrder({ lines });
    const { status, body } = await asA('post', '/orders', order);
    expect({ status, merchant: body['merchantId'] }).toEqual({ status: 201, merchant: 'a' });
    await asA('post', '/orders', { ...order, merchantId: 'a' }).expect(200);
    await asA('post', `/orders/${order.id}/attempts`, { provider: 'p', reference: order.id }).expect(201);
    await asA('post', `/orders/${order.id}/extend`, { byMs: 1_000 }).expect(200);
    const money = { provider: 'p', reference: order.id, amount: 1_999, currency: 'EUR' };
    await asA('post', `/orders/${order.id}/paid`, money).expect(200);
    expect((await asA('get', `/orders/${order.id}/history`)).status).toBe(200);
    const [parked] = mine.parked;
    await asA('post', '/timeouts/parked/discard', { timeouts: [parked, ...world.theirs.parked] }).expect(200, {
      count: 1,
    });
  });

  it('pages through its parked timeouts without a short page, however many of others lie between', async () => {
    const { asA, mine, parkMany } = world;
    await parkMany(40);
    const keys: string[] = [];
    let after = { kind: '', key: '' };
    for (;;) {
      const { body } = await asA('get', `/timeouts/parked?limit=5&afterKind=${after.kind}&afterKey=${after.key}`);
      const page = body as unknown as { kind: string; key: string }[];
      keys.push(...page.map(({ key }) => key));
      after = page.at(-1) ?? after;
      if (page.length < 5) break;
    }
    expect(keys.filter((key) => key.startsWith('many-a-'))).toHaveLength(40);
    expect(keys.filter((key) => !key.startsWith('many-a-')).sort()).toEqual(mine.parkedKeys.slice(1).sort());
  });

  it('of several merchants names the one of a new order or sku', async () => {
    const { service, keys } = world;
    const call = (method: Method, path: string, body: object) => service.call(method, path, body, keys.both.key);
    const order = anOrder({ lines: [] });
    const problem = { status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path: 'merchantId' }] } };
    expect(await call('post', '/orders', order)).toMatchObject(problem);
    expect(await call('put', '/inventory/new', { onHand: 1 })).toMatchObject(problem);
    const bulk = await call('post', '/orders/bulk', { orders: [{ ...order, merchantId: 'b' }, order] });
    expect(bulk).toMatchObject({ status: 400, body: { errors: [{ path: 'orders.1.merchantId' }] } });
    await call('post', '/orders', { ...order, merchantId: 'b' }).expect(201);
    await call('put', '/inventory/new', { onHand: 1, merchantId: 'b' }).expect(200);
    expect((await world.asA('get', '/inventory/new')).status).toBe(404);
    expect((await call('put', '/inventory/newer', { onHand: 1, merchantId: 'c' })).status).toBe(403);
  });

  it('does not matter for the goods: another merchant’s are unknown to every order, by AMQP and in the same process', async () => {
    const { service, theirs } = world;
    const lines = [{ sku: theirs.sku, quantity: 1, unitAmount: 1 }];
    const [mine, other] = [anOrder({ lines, merchantId: 'a' }), anOrder({ lines, merchantId: 'b' })];
    // Both in one group: each keeps its own answer.
    const orders = service.app.get(Orders);
    const results = await Promise.all([orders.place(mine as NewOrder), orders.place(other as NewOrder)]);
    expect(results).toMatchObject([{ code: 'UNKNOWN_SKU', skus: [theirs.sku] }, { outcome: 'placed' }]);
    service.command('order.placed', mine, { messageId: 'foreign-goods' });
    const find = () => service.parked.find(({ properties }) => properties.messageId === 'foreign-goods');
    await until(() => find() !== undefined);
    expect(find()?.properties.headers).toMatchObject({ 'x-ot-error-code': 'UNKNOWN_SKU' });
  });

  it('keeps no money for an order that is not there, as another merchant may place it later', async () => {
    const id = 'not-yet';
    await world.asA('post', `/orders/${id}/paid`, { provider: 'p', reference: 'early', amount: 1_999, currency: 'EUR' }).expect(404); // prettier-ignore
    await world.service.call('post', '/orders', anOrder({ id, merchantId: 'b', lines: [] })).expect(201);
    // The next transaction with the order would book money that waits for it.
    const { body } = await world.service.call('post', `/orders/${id}/auto-close`, { enabled: true });
    expect(body).toMatchObject({ status: 'PENDING', attempts: [] });
  });

  it('cannot claim a payment of another merchant by its reference, and learns nothing of that order', async () => {
    const { asA, theirs, service } = world;
    const mine = anOrder({ lines: [], attempt: { provider: 'p', reference: 'a-claims' } });
    await asA('post', '/orders', mine).expect(201);
    const money = { provider: 'p', amount: 1_999, currency: 'EUR' };
    const claims = [
      { ...money, reference: 'a-claims', transactionId: theirs.id },
      { ...money, reference: theirs.id },
    ];
    for (const claim of claims) {
      const { body, text } = await asA('post', `/orders/${mine.id}/paid`, claim);
      expect(body).toMatchObject({ outcome: 'attempt-mismatch', order: { id: mine.id, status: 'PENDING' } });
      expect(text).not.toContain(SECRET);
    }
    const { body } = await service.call('get', `/orders/${theirs.id}`);
    expect(body).toMatchObject({ status: 'PENDING', version: 1 });
  });
});
