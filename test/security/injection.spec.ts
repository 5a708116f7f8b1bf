import { loadConfig } from '../../src/service/config';
import { migrate } from '../../src/module';
import { anOrder, environmentOf, type Method } from '../e2e/running-service';
import { NASTY_TEXTS } from './arbitrary-values';
import { type AttackStage, openAttackStage } from './attack-stage';

const SQL = "x'); DROP TABLE order_timeout.orders; --";

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('injection', () => {
  let stage: AttackStage;
  let before: string;

  beforeAll(async () => {
    stage = await openAttackStage();
    before = await stage.fingerprint();
  });
  afterAll(() => stage.close());
  afterEach(async () => expect(await stage.fingerprint()).toBe(before));

  const call = (method: Method, path: string, body?: object | string) => stage.service.call(method, path, body);

  it.each<[string, Method, string, object | undefined]>([
    ['an order id in the path', 'get', `/orders/${encodeURIComponent(SQL)}`, undefined],
    ['the id of a history', 'get', `/orders/${encodeURIComponent(SQL)}/history`, undefined],
    ['an order id in the body', 'post', '/orders', anOrder({ id: SQL })],
    ['a merchant', 'post', '/orders', anOrder({ merchantId: SQL })],
    ['a currency', 'post', '/orders', anOrder({ currency: "E'R" })],
    ['an amount', 'post', '/orders', anOrder({ amount: '1; DROP TABLE orders' })],
    ['a provider', 'post', '/orders/seed-stripe/attempts', { provider: SQL, reference: 'r' }],
    ['a provider in the path', 'post', `/payments/${encodeURIComponent(SQL)}/notify`, {}],
    ['the limit of a page', 'get', '/timeouts/parked?limit=1;DROP', undefined],
    ['NUL in the key of a page', 'get', '/timeouts/parked?afterKey=%00', undefined],
    [
      'NUL in the key of a parked timeout',
      'post',
      '/timeouts/parked/replay',
      { timeouts: [{ kind: 'k', key: 'a\0b' }] },
    ],
    [
      'NUL in the kind of a parked timeout',
      'post',
      '/timeouts/parked/discard',
      { timeouts: [{ kind: '\0', key: 'k' }] },
    ],
    ['a status of a list', 'get', `/orders?status=${encodeURIComponent(SQL)}`, undefined],
    ['a cursor', 'get', `/orders?cursor=${encodeURIComponent(SQL)}`, undefined],
    ['an order id in a cursor', 'get', `/orders?cursor=${Buffer.from(`1 ${SQL}`).toString('base64url')}`, undefined],
    [
      'the id of a bulk action',
      'post',
      '/orders/bulk/actions/extend',
      { actionId: SQL, filter: { provider: 'p' }, reason: 'r', byMs: 1 },
    ],
    ['NUL in a sku', 'get', '/inventory/a%00b', undefined],
  ])('in %s is refused', async (_, method, path, body) => {
    expect((await call(method, path, body)).status).toBe(400);
  });

  it.each(['public; DROP SCHEMA order_timeout', 'x"', "x'", 'x.y', 'X', '', 'x'.repeat(64)])(
    'in the name of the schema, %j, is refused before anything is asked of the database',
    async (schema) => {
      await expect(migrate(stage.service.database.dataSource, schema)).rejects.toThrow('schema');
      const environment = { ...environmentOf('postgresql://h/d', 'amqp://h'), DATABASE_SCHEMA: schema || ' ' };
      expect(() => loadConfig(environment)).toThrow('DATABASE_SCHEMA must match');
    },
  );

  it('in a sku is a name like any other', async () => {
    const path = `/inventory/${encodeURIComponent(SQL)}`;
    await call('put', path, { onHand: 3 }).expect(200);
    expect((await call('get', path)).body).toMatchObject({ sku: SQL, onHand: 3 });
    const order = anOrder({ lines: [{ sku: SQL, quantity: 1, unitAmount: 1 }] });
    await call('post', '/orders', order).expect(201);
    expect((await call('get', path)).body).toMatchObject({ reserved: 1 });
  });

  it('in metadata, references and reasons is kept word for word', async () => {
    const metadata = { [SQL]: SQL, nested: [{ "'": '"' }], back: '\\u0000' };
    const attempt = { provider: 'stripe', reference: SQL, merchantAccount: "o'shop" };
    const order = anOrder({ lines: [], metadata, attempt });
    await call('post', '/orders', order).expect(201);
    await call('post', `/orders/${order.id}/extend`, { byMs: 1_000, reason: SQL }).expect(200);
    expect((await call('get', `/orders/${order.id}`)).body).toMatchObject({
      metadata,
      attempts: [{ reference: SQL, merchantAccount: "o'shop" }],
    });
    await call('post', '/orders', order).expect(200);
  });

  it('in the page of parked timeouts finds nothing and breaks nothing', async () => {
    const query = new URLSearchParams({ afterKind: SQL, afterKey: SQL });
    await call('get', `/timeouts/parked?${query.toString()}`).expect(200);
    await call('post', '/timeouts/parked/replay', { timeouts: [{ kind: SQL, key: SQL }] }).expect(200);
  });

  it.each(NASTY_TEXTS.map((text) => [JSON.stringify(text).slice(0, 30), text]))(
    'of %s in every text of an order never is a fault',
    async (_, text) => {
      const order = anOrder({ id: `n-${NASTY_TEXTS.indexOf(text)}`, lines: [], metadata: { [text]: text } });
      const attempt = { provider: 'stripe', reference: text, merchantAccount: text };
      for (const body of [order, { ...order, merchantId: text }, { ...order, id: text }, { ...order, attempt }]) {
        expect((await call('post', '/orders', body)).status).toBeLessThan(500);
      }
      expect(
        (await call('post', '/timeouts/parked/replay', { timeouts: [{ kind: text, key: text }] })).status,
      ).toBeLessThan(500);
      await call('post', `/orders/${order.id}/cancel`, { reason: text });
    },
  );

  it.each([1_000, 8_000, 30_000])('of metadata nested %i deep is refused', async (depth) => {
    const { id, amount, currency } = anOrder();
    const deep = '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
    const head = JSON.stringify({ id, amount, currency, lines: [] }).slice(0, -1);
    expect((await call('post', '/orders', `${head},"metadata":${deep}}`)).status).toBe(400);
  });

  it('of __proto__ into a body pollutes nothing', async () => {
    await call('post', '/orders', '{"__proto__":{"polluted":1},"id":"p-1","amount":1,"currency":"EUR","lines":[]}').expect(400); // prettier-ignore
    const { id, amount, currency } = anOrder();
    const head = JSON.stringify({ id, amount, currency, lines: [] }).slice(0, -1);
    await call('post', '/orders', `${head},"metadata":{"__proto__":{"polluted":1},"constructor":1}}`);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  describe('into headers', () => {
    it.each([
      ['an id that would end a line', 'evil\r\nSet-Cookie: a=b'],
      ['an id of quotes', '"><script>'],
      ['an id of 4000 characters', 'x'.repeat(4_000)],
      ['an id of no ASCII', 'ä'],
    ])('%s is not returned as X-Request-Id', async (_, id) => {
      const head = ['GET /orders/nobody HTTP/1.1', 'Host: x', 'Connection: close', `X-Request-Id: ${id}`, '', ''];
      const { headers, wire } = await stage.ask(Buffer.from(head.join('\r\n'), 'latin1'));
      expect(headers['set-cookie']).toBeUndefined();
      expect(wire).not.toContain(id);
      expect(headers['x-request-id'] ?? '').toMatch(/^[\w.:-]{0,128}$/);
    });

    it.each([
      ['two', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\ntraceparent: evil'],
      ['SQL', SQL],
      ['a long one', '0'.repeat(8_000)],
    ])('as traceparent, %s, is not kept', async (_, traceparent) => {
      const order = JSON.stringify(anOrder({ lines: [] }));
      const head = ['POST /orders HTTP/1.1', 'Host: x', 'Connection: close', 'content-type: application/json'];
      const more = ['x-api-key: key-of-everything', `content-length: ${order.length}`, `traceparent: ${traceparent}`];
      const { status } = await stage.ask(Buffer.from([...head, ...more, '', order].join('\r\n')));
      expect(status).toBe(201);
      const { id } = JSON.parse(order) as { id: string };
      const { body } = await call('get', `/orders/${id}/history`);
      expect(body[0]).toMatchObject({ traceparent: null });
    });

    it('as an Idempotency-Key that is no ASCII is refused, and SQL is a key like any other', async () => {
      const order = anOrder({ lines: [] });
      await call('post', '/orders', order).set('Idempotency-Key', 'ä').expect(400);
      await call('post', '/orders', order).set('Idempotency-Key', SQL).expect(201);
      await call('post', '/orders', anOrder({ lines: [] }))
        .set('Idempotency-Key', SQL)
        .expect(422);
    });

    it.each([
      ['both lengths', 'Content-Length: 5\r\nTransfer-Encoding: chunked'],
      ['two lengths', 'Content-Length: 5\r\nContent-Length: 6'],
      ['a folded header', 'X-A: b\r\n folded: c'],
      ['a blank before the colon', 'Content-Length : 5'],
    ])('to smuggle a request, %s, is refused', async (_, lines) => {
      const head = `POST /orders HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n0\r\n\r\n`;
      const { wire } = await stage.ask(Buffer.from(`${head}GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n`));
      expect(wire).toMatch(/^HTTP\/1\.1 400 /);
      expect(wire.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    });
  });
});
