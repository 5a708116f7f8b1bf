import { anOrder, API_KEYS, KEYS, openService, type RunningService } from './running-service';

describe('lists of orders, and actions on many, over HTTP', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService({ API_KEYS });
    const orders = ['m-1', 'm-1', 'm-1', 'm-2'].map((merchantId, n) =>
      anOrder({ id: `list-${n}`, merchantId, lines: [], attempt: { provider: `p-${n % 2}`, reference: `r-${n}` } }),
    );
    await service.call('post', '/orders/bulk', { orders }).expect(200);
  });
  afterAll(() => service.close());

  const idsOf = (body: Record<string, unknown>): string[] => (body.orders as { id: string }[]).map(({ id }) => id);

  it('pages through the orders of a filter', async () => {
    const first = await service.call('get', '/orders?merchantId=m-1&status=PENDING&status=CLOSING&limit=2', undefined, KEYS.reader); // prettier-ignore
    expect(first.status).toBe(200);
    const next = first.body['next'] as string;
    const second = await service.call('get', `/orders?merchantId=m-1&limit=2&cursor=${next}`);
    expect([...idsOf(first.body), ...idsOf(second.body)].sort()).toEqual(['list-0', 'list-1', 'list-2']);
    expect(second.body['next']).toBeNull();
    const { body } = await service.call('get', '/orders?reference=r-3&createdFrom=2020-01-01T00:00:00Z');
    expect(body.orders).toEqual([(await service.call('get', '/orders/list-3')).body]);
  });

  it.each([
    ['status=OPEN', 'status.0'],
    ['status=PENDING&status=OPEN', 'status.1'],
    ['limit=201', 'limit'],
    ['cursor=x', 'cursor'],
    ['expiresTo=tomorrow', 'expiresTo'],
    ['sort=id', 'sort'],
  ])('refuses %s', async (query, path) => {
    const { status, body } = await service.call('get', `/orders?${query}`);
    expect({ status, body }).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } });
  });

  it('needs the right scopes', async () => {
    await service.call('get', '/orders', undefined, KEYS.stock).expect(403);
    for (const action of ['extend', 'cancel', 'close'])
      await service.call('post', `/orders/bulk/actions/${action}`, {}, KEYS.reader).expect(403);
  });

  it('extends, cancels, and closes the orders of a filter, in the name of the key', async () => {
    const extend = { actionId: 'outage-1', filter: { provider: 'p-1' }, byMs: 1_800_000, reason: 'provider outage' };
    const dry = await service.call('post', '/orders/bulk/actions/extend', { ...extend, dryRun: true });
    expect(dry.body).toMatchObject({ dryRun: true, count: 2, outcomes: { extended: 2 }, next: null });
    const real = await service.call('post', '/orders/bulk/actions/extend', extend);
    expect(real.body).toEqual({ ...dry.body, dryRun: false });
    const history = await service.call('get', '/orders/list-1/history');
    expect((history.body as unknown as object[]).at(-1)).toMatchObject({ actor: 'shop', cause: 'operator' });
    const some = { filter: { merchantId: 'm-2' }, reason: 'sale called off' };
    const cancelled = await service.call('post', '/orders/bulk/actions/cancel', some);
    expect(cancelled.body).toMatchObject({ outcomes: { cancelling: 1 } });
    const closed = await service.call('post', '/orders/bulk/actions/close', { ...some, filter: { merchantId: 'm-1' } });
    expect(closed.body).toMatchObject({ count: 3, outcomes: { closing: 3 } });
    const empty = await service.call('post', '/orders/bulk/actions/close', { filter: {}, reason: 'r' });
    expect(empty).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED', errors: [{ path: 'filter' }] } });
  });

  it('leaves an order that is called like a part of the path alone', async () => {
    await service.call('post', '/orders', anOrder({ id: 'actions', lines: [] })).expect(201);
    await service.call('post', '/orders', anOrder({ id: 'bulk', lines: [] })).expect(201);
    for (const id of ['actions', 'bulk']) await service.call('post', `/orders/${id}/extend`, { byMs: 1 }).expect(200);
  });
});
