import { gunzipSync } from 'node:zlib';
import { KEYS, openOperatorHost, type OperatorHost, PAGE } from './operator-host';

const HOUR_S = 3_600;

describe.each(['express', 'fastify'] as const)('on %s, the operator page', (adapter) => {
  let host: OperatorHost;
  let deep: OperatorHost;

  beforeAll(async () => {
    host = await openOperatorHost({ adapter });
    deep = await openOperatorHost({ adapter, path: 'shop/v1' });
  });
  afterAll(async () => {
    await host.close();
    await deep.close();
  });

  it.each(['/operator', '/operator?a=/'])('sends %s to the path with a slash, by a relative address', async (path) => {
    expect(await host.send('get', path)).toMatchObject({ status: 308, headers: { location: 'operator/' } });
  });

  it('is served, and not kept', async () => {
    const { status, text, headers } = await host.send('get', '/operator/');
    expect([status, text]).toEqual([200, PAGE['index.html']]);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-store');
  });

  it('has files that are kept forever, and compressed', async () => {
    const path = '/operator/app-1a2b3c4d.js';
    const zipped = await host.send('get', path, undefined, { 'accept-encoding': 'gzip' });
    expect(zipped.text).toBe(PAGE['app-1a2b3c4d.js']);
    expect(zipped.headers).toMatchObject({
      'content-encoding': 'gzip',
      vary: expect.stringContaining('Accept-Encoding') as string,
    });
    const plain = await host.send('get', path, undefined, { 'accept-encoding': 'identity' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(plain.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(() => gunzipSync(Buffer.from(plain.text))).toThrow();
  });

  it('works behind the option path', async () => {
    expect(await deep.send('get', '/shop/v1/operator')).toMatchObject({
      status: 308,
      headers: { location: 'operator/' },
    });
    expect((await deep.send('get', '/shop/v1/operator/')).text).toBe(PAGE['index.html']);
    expect((await deep.send('get', '/operator/')).status).toBe(404);
    const reader = await deep.signIn(KEYS.reader);
    expect((await reader.get('session')).body).toMatchObject({ name: 'reader' });
  });

  it('signs in for twelve hours, with a cookie that scripts and other sites do not get', async () => {
    const { body, headers } = await host.send('post', '/operator/api/session', { key: KEYS.ofA }).expect(200);
    const attributes = String(headers['set-cookie']).split('; ').slice(1);
    expect(attributes).toEqual([`Max-Age=${12 * HOUR_S}`, 'HttpOnly', 'SameSite=Strict']);
    expect(body).toMatchObject({
      name: 'of-a',
      roles: ['read', 'operate', 'money', 'reveal'],
      merchants: ['a'],
      csrf: expect.stringMatching(/^[\w-]{43}$/) as string,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    });
    expect(Date.parse(body.expiresAt) - Date.now()).toBeGreaterThan(11.9 * HOUR_S * 1_000);
  });

  it('keeps the cookie off plain HTTP where the browser uses HTTPS', async () => {
    const headers = {
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'shop.example',
      origin: 'https://shop.example',
    };
    const { headers: answered } = await host.send('post', '/operator/api/session', { key: KEYS.reader }, headers);
    expect(String(answered['set-cookie'])).toMatch(/; Secure$/);
  });

  it('shows who is signed in', async () => {
    const boss = await host.signIn(KEYS.all);
    expect((await boss.get('session')).body).toMatchObject({ name: 'boss', merchants: null, csrf: boss.csrf });
  });
});
