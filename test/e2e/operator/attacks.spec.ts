import { Logger } from '@nestjs/common';
import { KEYS, type OperatorHost, openOperatorHost, PAGE, type SignedIn } from './operator-host';
import { OperatorKeys, OperatorSessions } from '../../../src/api/http';
import { apiKeyEntry } from '../../support/servers/service-environment';
import { firstThat } from '../../support/engine';

const API = '/operator/api';
const READS = ['session', 'overview', 'orders', 'orders/x'];
const reason = 'a test';

describe.each(['express', 'fastify'] as const)('on %s, an attacker', (adapter) => {
  let host: OperatorHost;
  let boss: SignedIn;

  beforeAll(async () => {
    host = await openOperatorHost({ adapter });
    boss = await host.signIn(KEYS.all);
  });
  afterAll(() => host.close());

  it.each(READS)('without a session reads nothing at %s', async (path) => {
    const { status, body } = await host.send('get', `${API}/${path}`);
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'UNAUTHORIZED' });
  });

  it('does not get in with a wrong key, the hash of a key, or many guesses', async () => {
    const entry = apiKeyEntry('boss', KEYS.all, 'read').split(':')[1];
    for (const key of ['wrong', entry]) expect((await host.send('post', `${API}/session`, { key })).status).toBe(401);
    for (const body of [{}, { key: '' }, { key: 1 }, { key: 'x'.repeat(2_000) }, { key: KEYS.all, more: 1 }])
      expect((await host.send('post', `${API}/session`, body)).status).toBe(400);
    const guess = (at: number) => host.send('post', `${API}/session`, { key: `guess ${at}` });
    expect(await firstThat(guess, ({ status }) => status === 429)).toBeDefined();
  });

  it('does not learn amid many guesses which key is right, and leaves a line in the log', async () => {
    const logged = jest.spyOn(Logger.prototype, 'log').mockImplementation();
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const signIn = (key: string) => host.send('post', `${API}/session`, { key });
    const refused = async (at: number): Promise<boolean> => {
      const { status } = await signIn(at < 40 ? `guess ${at}` : KEYS.all);
      return at >= 40 && status === 429;
    };
    await firstThat(
      () => signIn('guess'),
      ({ status }) => status === 401,
    );
    await firstThat(refused, (isRefused) => isRefused);
    expect(warned).toHaveBeenCalledWith(expect.stringMatching(/^somebody at [\d.:]+ failed to sign in: .*unknown/));
    await firstThat(
      () => signIn(KEYS.all),
      ({ status }) => status === 200,
    );
    expect(logged).toHaveBeenCalledWith(expect.stringMatching(/^operator "boss" signed in from [\d.:]+$/));
    expect(JSON.stringify([warned.mock.calls, logged.mock.calls])).not.toMatch(/guess|key-of/);
    logged.mockRestore();
    warned.mockRestore();
  });

  it.each<[string, (token: string) => string]>([
    ['without a signature', (token) => token.split('.')[0] ?? ''],
    ['with an empty signature', (token) => `${token.split('.')[0]}.`],
    ['with another name in it', (token) => `${payload(['reader', 0, 9e15, 'x'])}.${token.split('.')[1]}`],
    ['with another end', (token) => token.replace(/^[^.]+/, (text) => payload([...read(text).slice(0, 2), 9e15, 'x']))],
    ['that was signed with another key', () => tokenOf('another-key')],
    ['that is no token', () => 'null.null'],
    ['that names a property of objects', (token) => `${payload(['__proto__', 0, 9e15, 'x'])}.${token.split('.')[1]}`],
  ])('does not get in with a cookie %s', async (_, forge) => {
    const [name, token = ''] = boss.cookie.split(/=(.*)/s);
    const { status } = await host.send('get', `${API}/session`, undefined, { cookie: `${name}=${forge(token)}` });
    expect(status).toBe(401);
    expect((await boss.get('session')).status).toBe(200);
  });

  it('cannot slip a second cookie beside the right one', async () => {
    const cookie = `order_timeout_operator=null.null; ${boss.cookie}`;
    expect((await host.send('get', `${API}/session`, undefined, { cookie })).status).toBe(401);
  });

  it.each<[string, Record<string, string>]>([
    ['without a CSRF token', {}],
    ['with a wrong CSRF token', { 'x-csrf-token': 'wrong' }],
    ['with an empty CSRF token', { 'x-csrf-token': '' }],
  ])('on another site does not act %s', async (_, headers) => {
    const { status, body } = await boss.post('orders/x/reveal', { reason }, headers);
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'CROSS_SITE_REQUEST' });
  });

  it.each<[string, Record<string, string>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['an origin without a name', { origin: 'null' }],
    ['an origin on another port', { origin: 'http://127.0.0.1:1' }],
    ['a sibling site', { 'sec-fetch-site': 'same-site' }],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a bookmark', { 'sec-fetch-site': 'none' }],
  ])('does not act from %s, even with the CSRF token', async (_, headers) => {
    const all = { 'x-csrf-token': boss.csrf, ...headers };
    expect((await boss.post('orders/x/reveal', { reason }, all)).body.code).toBe('CROSS_SITE_REQUEST');
    const signIn = await host.send('post', `${API}/session`, { key: KEYS.all }, headers);
    expect([signIn.status, signIn.headers['set-cookie']]).toEqual([403, undefined]);
  });

  it('cannot use the CSRF token of another session', async () => {
    const other = await host.signIn(KEYS.all);
    expect((await boss.post('orders/x/reveal', { reason }, { 'x-csrf-token': other.csrf })).status).toBe(403);
    const page = { 'x-csrf-token': boss.csrf, 'sec-fetch-site': 'same-origin' };
    expect((await boss.post('orders/x/reveal', { reason }, page)).body.code).toBe('ORDER_NOT_FOUND');
  });

  it('cannot frame the page, and every answer says so', async () => {
    const answers = await Promise.all([
      ...['/operator/', '/operator', '/operator/app-1a2b3c4d.js', '/operator/nothing.js'].map((path) =>
        host.send('get', path),
      ),
      ...[host.send('get', `${API}/overview`), boss.get('session'), boss.post('orders/x/reveal', {})],
    ]);
    for (const { headers } of answers) {
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/);
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['referrer-policy']).toBe('no-referrer');
    }
  });

  it.each([
    ...['../package.json', '..%2fpackage.json', '%2e%2e/package.json', '%2e%2e%2f%2e%2e%2fpackage.json'],
    ...['..%5cpackage.json', 'app-1a2b3c4d.js%00.html', '.', '%2e', '.git', 'constructor', '__proto__', 'toString'],
    ...['/etc/passwd', '%2fetc%2fpasswd', 'file:%2f%2f%2fetc%2fpasswd', 'app-1a2b3c4d.js/../../package.json'],
  ])('gets no other file by the path %s', async (path) => {
    const { status, text } = await host.send('get', `/operator/${path}`);
    expect(text).not.toMatch(/"name"|root:/);
    // Clients resolve dots themselves, so some of these are the page.
    expect(text === PAGE['index.html'] || status >= 300).toBe(true);
  });

  it.each(['kind=%00', 'reason=%00', 'afterKey=%00', 'kind[$ne]=x', 'kind=a&kind=b', 'limit=1e9'])(
    'causes no fault by %s',
    async (query) => {
      expect((await boss.get(`parked-timeouts?${query}`)).body.code).toBe('VALIDATION_FAILED');
    },
  );

  it('reads no answer from a cache', async () => {
    for (const path of READS) expect((await boss.get(path)).headers['cache-control']).toBe('no-store');
  });

  it('finds no cookie in the browser after the operator has signed out', async () => {
    const leaving = await host.signIn(KEYS.reader);
    const headers = { cookie: leaving.cookie, 'x-csrf-token': leaving.csrf };
    const left = await host.send('delete', `${API}/session`, undefined, headers);
    expect(left).toMatchObject({ status: 204, headers: { 'set-cookie': [expect.stringContaining('Max-Age=0')] } });
  });
});

describe('a session and an API key', () => {
  const action = 'orders/x/close';
  const key = 'key-of-shop';

  it('do not open each other’s routes', async () => {
    const options = { http: true, apiKeys: [apiKeyEntry('shop', key, '*')] };
    const host = await openOperatorHost({ options });
    const { cookie, csrf } = await host.signIn(KEYS.all);
    const codeOf = async (path: string, headers: Record<string, string>) =>
      (await host.send('post', path, { reason }, headers)).body.code;
    const session = { cookie, 'x-csrf-token': csrf };
    expect(await codeOf(`${API}/${action}`, session)).toBe('ORDER_NOT_FOUND');
    expect(await codeOf(`/${action}`, { 'x-api-key': key })).toBe('ORDER_NOT_FOUND');
    expect(await codeOf(`/${action}`, session)).toBe('UNAUTHORIZED');
    expect(await codeOf(`${API}/${action}`, { 'x-api-key': key })).toBe('UNAUTHORIZED');
    // The token of a session, or an operator key, where an API key belongs.
    for (const token of [cookie.split('=')[1] ?? '', KEYS.all])
      expect(await codeOf(`/${action}`, { authorization: `Bearer ${token}` })).toBe('UNAUTHORIZED');
    await host.close();
  });

  it.each(['attempts', 'paid', 'erase'])('differ: the page has no route for %s', async (only) => {
    const host = await openOperatorHost();
    const boss = await host.signIn(KEYS.all);
    expect((await boss.post(`orders/x/${only}`, { reason })).status).toBe(404);
    await host.close();
  });
});

describe('an operator page without keys', () => {
  it('is not there', async () => {
    const host = await openOperatorHost({ options: { operatorKeys: [] } });
    for (const path of [
      '/operator',
      '/operator/',
      '/operator/app-1a2b3c4d.js',
      ...READS.map((read) => `${API}/${read}`),
    ])
      expect((await host.send('get', path)).body.code).toBe('ROUTE_NOT_FOUND');
    expect((await host.send('post', `${API}/session`, { key: KEYS.all })).status).toBe(404);
    await host.close();
  });
});

function payload(content: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

function read(text: string): unknown[] {
  return JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
}

/** A token of an operator with the same name and another key. */
function tokenOf(key: string): string {
  const keys = new OperatorKeys([apiKeyEntry('boss', key, 'operate')]);
  return new OperatorSessions(keys, { now: () => Date.now() }).begin(key)?.token ?? '';
}
