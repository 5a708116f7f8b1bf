import { anOrder, KEYS, type Method, openService, type RunningService, withFaultOf } from './running-service';

describe('bad requests', () => {
  let service: RunningService;
  let known: ReturnType<typeof anOrder>;

  beforeAll(async () => {
    service = await openService();
    await service.call('put', '/inventory/apple', { onHand: 10 }).expect(200);
    known = anOrder();
    await service.call('post', '/orders', known).expect(201);
    const done = anOrder({ id: 'done', attempt: { provider: 'p', reference: 'taken' } });
    await service.call('post', '/orders', done).expect(201);
    const payment = { provider: 'p', reference: 'taken', amount: 1_999, currency: 'EUR' };
    await service.call('post', '/orders/done/paid', payment).expect(200);
    await service.call('post', '/orders', anOrder({ id: 'over', paymentWindowMs: 0, graceMs: 600_000 })).expect(201);
  });

  afterAll(() => service.close());

  async function refused(
    method: Method,
    path: string,
    body: object | string | undefined,
    status: number,
    code: string,
  ) {
    const response = await service.call(method, path, body);
    expect({ status: response.status, body: response.body }).toMatchObject({
      status,
      body: {
        status,
        code,
        type: `urn:order-timeout:problem:${code}`,
        title: expect.any(String) as unknown,
        detail: expect.any(String) as unknown,
      },
    });
    expect(response.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    return response;
  }

  it('names every bad field of an order at once', async () => {
    const bad = {
      ...anOrder(),
      id: 'a b',
      amount: 0.5,
      currency: 'eur',
      lines: [{ sku: '', quantity: 0 }],
      colour: 'red',
    };
    const { body } = await refused('post', '/orders', bad, 400, 'VALIDATION_FAILED');
    const paths = (body.errors as { path: string }[]).map(({ path }) => path).sort();
    expect(paths).toEqual([
      'amount',
      'colour',
      'currency',
      'id',
      'lines.0.quantity',
      'lines.0.sku',
      'lines.0.unitAmount',
    ]);
  });

  it.each<[string, Method, string, object | string | undefined, number, string]>([
    ['another order under a known id', 'post', '/orders', anOrder({ id: 'done', amount: 5 }), 409, 'ORDER_EXISTS'],
    [
      'more than there is',
      'post',
      '/orders',
      anOrder({ lines: [{ sku: 'apple', quantity: 11, unitAmount: 1 }] }),
      409,
      'OUT_OF_STOCK',
    ],
    [
      'an unknown sku',
      'post',
      '/orders',
      anOrder({ lines: [{ sku: 'pear', quantity: 1, unitAmount: 1 }] }),
      422,
      'UNKNOWN_SKU',
    ],
    [
      'a window of ten years',
      'post',
      '/orders',
      anOrder({ paymentWindowMs: 315_360_000_000 }),
      422,
      'PAYMENT_WINDOW_OUT_OF_RANGE',
    ],
    [
      "an attempt of another order's",
      'post',
      '/orders',
      anOrder({ attempt: { provider: 'p', reference: 'taken' } }),
      409,
      'ATTEMPT_EXISTS',
    ],
    ['bad JSON', 'post', '/orders', '{"id":', 400, 'INVALID_JSON'],
    ['no body', 'post', '/orders', undefined, 400, 'VALIDATION_FAILED'],
    ['an array', 'post', '/orders', [], 400, 'VALIDATION_FAILED'],
    ['a body of 300 KiB', 'post', '/orders', { padding: 'x'.repeat(300_000) }, 413, 'BODY_TOO_LARGE'],
    ['a bulk of 3 MiB', 'post', '/orders/bulk', { padding: 'x'.repeat(3_000_000) }, 413, 'BODY_TOO_LARGE'],
    ['a bulk of nothing', 'post', '/orders/bulk', { orders: [] }, 400, 'VALIDATION_FAILED'],
    ['a NUL in a text', 'post', '/orders/done/cancel', { reason: 'a\0b' }, 400, 'VALIDATION_FAILED'],
    ['an order that is not there', 'get', '/orders/nobody', undefined, 404, 'ORDER_NOT_FOUND'],
    ['an order id that cannot be', 'get', '/orders/a%20b', undefined, 400, 'VALIDATION_FAILED'],
    ['a path that cannot be decoded', 'get', '/orders/%E0%A4%A', undefined, 400, 'INVALID_REQUEST'],
    ['history of nothing', 'get', '/orders/nobody/history', undefined, 404, 'ORDER_NOT_FOUND'],
    [
      'an attempt on nothing',
      'post',
      '/orders/nobody/attempts',
      { provider: 'p', reference: 'r' },
      404,
      'ORDER_NOT_FOUND',
    ],
    [
      'an attempt on an expired order',
      'post',
      '/orders/over/attempts',
      { provider: 'p', reference: 'r' },
      409,
      'ORDER_EXPIRED',
    ],
    [
      'an attempt on a paid order',
      'post',
      '/orders/done/attempts',
      { provider: 'p', reference: 'r' },
      409,
      'ORDER_NOT_PAYABLE',
    ],
    ['a pay-check of nothing', 'post', '/orders/nobody/pay-check', undefined, 404, 'ORDER_NOT_FOUND'],
    ['an extension of a paid order', 'post', '/orders/done/extend', { byMs: 1 }, 409, 'ORDER_NOT_PENDING'],
    [
      'an extension both ways',
      'post',
      '/orders/over/extend',
      { byMs: 1, expiresAt: '2030-01-01T00:00:00Z' },
      400,
      'VALIDATION_FAILED',
    ],
    [
      'an extension of centuries',
      'post',
      '/orders/over/extend',
      { expiresAt: '2999-01-01T00:00:00Z' },
      422,
      'DEADLINE_OUT_OF_RANGE',
    ],
    [
      'a deadline before the calendar',
      'post',
      '/orders/over/extend',
      { expiresAt: '0000-01-01T00:00:00Z' },
      400,
      'VALIDATION_FAILED',
    ],
    ['cancelling a paid order', 'post', '/orders/done/cancel', {}, 409, 'ORDER_NOT_CANCELLABLE'],
    ['auto-close without a word', 'post', '/orders/done/auto-close', {}, 400, 'VALIDATION_FAILED'],
    ['erasing nothing', 'post', '/orders/nobody/erase', { reason: 'r' }, 404, 'ORDER_NOT_FOUND'],
    ['erasing an order under way', 'post', '/orders/over/erase', { reason: 'r' }, 409, 'ORDER_NOT_FINISHED'],
    ['erasing without a reason', 'post', '/orders/done/erase', {}, 400, 'VALIDATION_FAILED'],
    ['stock below what is reserved', 'put', '/inventory/apple', { onHand: 1 }, 409, 'STOCK_BELOW_RESERVED'],
    ['stock taken away below what is reserved', 'put', '/inventory/apple', { add: -8 }, 409, 'STOCK_BELOW_RESERVED'],
    ['a new sku with less than nothing', 'put', '/inventory/fig', { add: -1 }, 409, 'STOCK_BELOW_RESERVED'],
    ['more stock than can be counted', 'put', '/inventory/apple', { add: 2_147_483_647 }, 422, 'STOCK_TOO_LARGE'],
    ['stock that has changed', 'put', '/inventory/apple', { onHand: 20, expected: 8 }, 409, 'STOCK_CHANGED'],
    ['stock both set and added', 'put', '/inventory/apple', { onHand: 20, add: 1 }, 400, 'VALIDATION_FAILED'],
    ['stock neither set nor added', 'put', '/inventory/apple', { expected: 20 }, 400, 'VALIDATION_FAILED'],
    [
      'an expectation where stock is added',
      'put',
      '/inventory/apple',
      { add: 1, expected: 9 },
      400,
      'VALIDATION_FAILED',
    ],
    ['an unknown sku', 'get', '/inventory/pear', undefined, 404, 'SKU_NOT_FOUND'],
    ['negative stock', 'put', '/inventory/apple', { onHand: -1 }, 400, 'VALIDATION_FAILED'],
    ['an unknown path', 'get', '/nothing', undefined, 404, 'ROUTE_NOT_FOUND'],
    ['the wrong method', 'delete', '/orders/done', undefined, 405, 'METHOD_NOT_ALLOWED'],
    ['the wrong method for a collection', 'delete', '/orders', undefined, 405, 'METHOD_NOT_ALLOWED'],
  ])('refuses %s: %s %s', async (_, method, path, body, status, code) => {
    await refused(method, path, body, status, code);
  });

  it('says which methods a path takes', async () => {
    const { headers } = await refused('patch', '/inventory/apple', {}, 405, 'METHOD_NOT_ALLOWED');
    expect(headers.allow).toBe('GET, HEAD, PUT');
  });

  it('tells programs the numbers too', async () => {
    const order = anOrder({ lines: [{ sku: 'apple', quantity: 11, unitAmount: 1 }] });
    const { body } = await refused('post', '/orders', order, 409, 'OUT_OF_STOCK');
    expect(body.shortages).toEqual([{ sku: 'apple', wanted: 11, available: 7 }]);
    const stale = await refused('put', '/inventory/apple', { onHand: 20, expected: 8 }, 409, 'STOCK_CHANGED');
    expect(stale.body).toMatchObject({ onHand: 9, reserved: 2, available: 7 });
  });

  it('keeps money that is reported for an order that is not there', async () => {
    const payment = { provider: 'p', reference: 'unmatched', amount: 5, currency: 'EUR' };
    await refused('post', '/orders/nobody/paid', payment, 404, 'ORDER_NOT_FOUND');
    const kept: unknown = await service.database.dataSource.query(
      'SELECT order_id, amount FROM order_timeout.unmatched_payment',
    );
    expect(kept).toEqual([{ order_id: 'nobody', amount: '5' }]);
  });

  it('asks for a key, and for the scope', async () => {
    const path = '/orders/done';
    const none = await service.call('get', path, undefined, null).expect(401);
    expect(none.body).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(none.headers['www-authenticate']).toContain('Bearer');
    await service.call('get', path, undefined, 'wrong').expect(401);
    await service.call('get', path, undefined, KEYS.reader).expect(200);
    await service.call('get', path, undefined, null).set('Authorization', `Bearer ${KEYS.reader}`).expect(200);
    const forbidden = await service.call('post', '/orders/done/cancel', {}, KEYS.reader).expect(403);
    expect(forbidden.body).toMatchObject({ code: 'FORBIDDEN', detail: 'key "reader" lacks the scope orders:write' });
    await service.call('put', '/inventory/kiwi', { onHand: 1 }, KEYS.stock).expect(200);
    await service.call('get', '/inventory/kiwi', undefined, KEYS.reader).expect(200);
    await service.call('put', '/inventory/kiwi', { onHand: 1 }, KEYS.reader).expect(403);
    await service.call('post', '/orders/done/erase', { reason: 'r' }, KEYS.stock).expect(403);
  });

  it('tells nothing of its innards when something unexpected happens, but an id to find it in the log', async () => {
    const broken = await withFaultOf(service, 'orders', () =>
      refused('post', '/orders', anOrder(), 500, 'INTERNAL_ERROR'),
    );
    expect(JSON.stringify(broken.body)).not.toContain('fault');
    expect(broken.headers['x-request-id']).toBe(broken.body.requestId);
  });
});
