import { Orders } from '../../../src';
import { type Method } from '../running-service';
import { KEYS, type OperatorHost, openOperatorHost, type SignedIn } from './operator-host';

const API = '/operator/api';

interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
}

describe('every route of the operator page', () => {
  let host: OperatorHost;
  let routes: readonly (readonly [method: Method, path: string])[];

  beforeAll(async () => {
    host = await openOperatorHost();
    const { router } = host.app.getHttpAdapter().getInstance() as unknown as { router: { stack: Layer[] } };
    routes = router.stack.flatMap(({ route: { path, methods } = { path: '', methods: {} } }) =>
      path.startsWith(API) ? Object.keys(methods).map((method) => [method as Method, path] as const) : [],
    );
  });
  afterAll(() => host.close());

  it('needs a session, and to act, a request from the page', async () => {
    const boss = await host.signIn(KEYS.all);
    expect(routes.length).toBeGreaterThan(30);
    for (const [method, path] of routes) {
      if (isSignIn(method, path)) continue;
      const refused = await host.send(method, path, method === 'get' ? undefined : {});
      expect([method, path, refused.status, refused.headers['x-frame-options']]).toEqual([method, path, 401, 'DENY']);
      if (method === 'get') continue;
      const forged = await host.send(method, path, {}, { cookie: boss.cookie });
      expect([method, path, forged.body.code]).toEqual([method, path, 'CROSS_SITE_REQUEST']);
    }
  });

  it('needs one role that changes something, if it is no reading', async () => {
    const changing = [KEYS.operator, KEYS.cashier, KEYS.revealer];
    const [reader, ...others] = await Promise.all([KEYS.reader, ...changing].map((key) => host.signIn(key)));
    for (const [method, path] of routes.filter(([method]) => method === 'post')) {
      if (isSignIn(method, path)) continue;
      const route = path.slice(API.length + 1);
      expect([path, (await reader?.post(route))?.body.code]).toEqual([path, 'FORBIDDEN']);
      const answers = await Promise.all(others.map((one) => one.post(route)));
      expect([path, answers.filter(({ body }) => body.code !== 'FORBIDDEN').length]).toEqual([path, 1]);
    }
  });

  it('knows no orders of other merchants', async () => {
    await host.app.get(Orders).place({ ...{ id: 'of-b', merchantId: 'b', amount: 500n, currency: 'EUR' }, lines: [] });
    const [boss, ofA] = [await host.signIn(KEYS.all), await host.signIn(KEYS.ofA)];
    const ofOrders = routes.filter(([, path]) => path.includes('/orders/:id'));
    expect(ofOrders.length).toBeGreaterThan(8);
    for (const [method, path] of ofOrders) {
      const route = path.slice(API.length + 1).replace(':id', 'of-b');
      const call = (one: SignedIn) => (method === 'get' ? one.get(route) : one.post(route));
      expect([path, (await call(ofA)).body.code]).toEqual([path, 'ORDER_NOT_FOUND']);
      expect([path, (await call(boss)).status]).not.toEqual([path, 404]);
    }
  });
});

function isSignIn(method: Method, path: string): boolean {
  return method === 'post' && path === `${API}/session`;
}
