import fc from 'fast-check';
import { InvalidOptionsError } from '../../../src/errors';
import { HttpPaymentProvider, type HttpPaymentOptions } from '../../../src/payments';
import {
  SIGNATURE_HEADERS,
  signHttpRequest,
  signHttpResponse,
  sendHttpRequest,
  StaleConnectionError,
} from '../../../src/payments/http/http-exchange';
import { anAttempt } from './an-attempt';
import { answerHttp } from './http-peer';
import { ManualClock } from '../../support/manual-clock';

jest.mock('../../../src/payments/http/http-exchange', () => ({
  ...jest.requireActual<object>('../../../src/payments/http/http-exchange'),
  sendHttpRequest: jest.fn(),
}));

interface Scripted {
  readonly status?: number;
  readonly body?: Record<string, unknown> | string;
  readonly secret?: string;
  readonly skewSeconds?: number;
  readonly headers?: Record<string, string>;
  readonly signed?: boolean;
  readonly signedStatus?: number;
}

const SECRET = 'the-secret-of-the-default-merchant';
const never = new AbortController().signal;
const PAID = {
  status: 'PAID',
  amount: '1999',
  currency: 'EUR',
  paidAt: '2026-01-01T00:00:00.000Z',
  transactionId: 't-1',
};

/** HttpPaymentProvider before a provider that answers as scripted, signed as a provider would. */
function provider(scripted: Scripted, options: Partial<HttpPaymentOptions> = {}) {
  const clock = new ManualClock();
  const requests: Request[] = [];
  answerHttp((request) => {
    requests.push(request);
    return answerTo(request, scripted, clock);
  });
  const http = new HttpPaymentProvider(
    { name: 'pay', baseUrl: 'http://pay.test/v1/', secret: SECRET, ...options },
    clock,
  );
  return { http, requests, clock };
}

function answerTo(request: Request, scripted: Scripted, clock: ManualClock): Response {
  const { pathname, search, searchParams } = new URL(request.url);
  const reference = decodeURIComponent(pathname.split('/')[3] ?? '');
  const nonce = request.headers.get(SIGNATURE_HEADERS.nonce);
  const echo = {
    reference,
    nonce,
    merchantAccount: searchParams.get('merchantAccount'),
    now: '2026-01-01T00:00:01.000Z',
  };
  const body = typeof scripted.body === 'string' ? scripted.body : JSON.stringify({ ...echo, ...scripted.body });
  const timestamp = String(Math.floor(clock.now() / 1_000) + (scripted.skewSeconds ?? 0));
  const status = scripted.status ?? 200;
  const message = { timestamp, method: request.method, path: pathname + search, body: Buffer.from(body) };
  const signature = signHttpResponse(scripted.secret ?? SECRET, {
    ...message,
    status: scripted.signedStatus ?? status,
  });
  const signing = { [SIGNATURE_HEADERS.timestamp]: timestamp, [SIGNATURE_HEADERS.signature]: signature };
  return new Response(body, {
    status,
    headers: { ...(scripted.signed === false ? {} : signing), ...scripted.headers },
  });
}

afterEach(() => jest.mocked(sendHttpRequest).mockReset());

describe('HttpPaymentProvider', () => {
  describe('requests', () => {
    it('signs a query so that the provider can verify it', async () => {
      const { http, requests, clock } = provider(
        { body: { status: 'OPEN' } },
        { merchantSecrets: { 'shop a': SECRET } },
      );
      await http.query(anAttempt({ reference: 'a/b?c', merchantAccount: 'shop a' }), never);
      const [request] = requests;
      expect(request?.method).toBe('GET');
      expect(request?.url).toBe('http://pay.test/v1/payments/a%2Fb%3Fc?merchantAccount=shop+a');
      const timestamp = request?.headers.get(SIGNATURE_HEADERS.timestamp) ?? '';
      const nonce = request?.headers.get(SIGNATURE_HEADERS.nonce) ?? '';
      const path = '/v1/payments/a%2Fb%3Fc?merchantAccount=shop+a';
      expect(timestamp).toBe(String(clock.now() / 1_000));
      expect(request?.headers.get(SIGNATURE_HEADERS.signature)).toBe(
        signHttpRequest(SECRET, { timestamp, method: 'GET', path, nonce, body: new Uint8Array() }),
      );
    });

    it('posts each close to the close path with a new nonce', async () => {
      const { http, requests } = provider({ body: { status: 'CLOSED' } });
      await http.close(anAttempt(), never);
      await http.close(anAttempt(), never);
      expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(
        Array(2).fill('POST http://pay.test/v1/payments/ord-1/close'),
      );
      expect(new Set(requests.map(({ headers }) => headers.get(SIGNATURE_HEADERS.nonce))).size).toBe(2);
    });

    it.each(['', '.', '..', 'with space', 'ü', '\ud800'])(
      'makes no request for the reference %j',
      async (reference) => {
        const { http, requests } = provider({ body: { status: 'CLOSED' } });
        expect(await http.close(anAttempt({ reference }), never)).toMatchObject({ type: 'UNKNOWN' });
        expect(requests).toEqual([]);
      },
    );

    it.each(['shop-b', '__proto__', 'toString'])(
      'makes no request for the merchant account %s without a secret',
      async (merchantAccount) => {
        const { http, requests } = provider({ body: { status: 'OPEN' } }, { merchantSecrets: { 'shop-a': SECRET } });
        expect(await http.query(anAttempt({ merchantAccount }), never)).toMatchObject({
          type: 'UNKNOWN',
          reason: expect.stringMatching('no secret is configured') as string,
        });
        expect(requests).toEqual([]);
      },
    );
  });

  describe('verified answers', () => {
    it.each(['OPEN', 'PROCESSING', 'AUTHORIZED', 'CLOSED', 'REFUNDED'])('query: 200 %s', async (status) => {
      const { http } = provider({ body: { status } });
      expect(await http.query(anAttempt(), never)).toMatchObject({ type: status, evidence: { body: { status } } });
    });

    it('query: 200 PAID with all data of the payment', async () => {
      const { http } = provider({ body: { ...PAID, amount: '900719925474099312' } });
      expect(await http.query(anAttempt(), never)).toMatchObject({
        type: 'PAID',
        amount: 900_719_925_474_099_312n,
        currency: 'EUR',
        paidAt: new Date(PAID.paidAt),
        transactionId: 't-1',
        evidence: { httpStatus: 200, body: { transactionId: 't-1' } },
      });
    });

    it.each([
      [200, 'CLOSED'],
      [200, 'ALREADY_CLOSED'],
      [409, 'PAID'],
      [409, 'IN_PROGRESS'],
    ])('close: %i %s', async (status, type) => {
      const { http } = provider({ status, body: { status: type } });
      expect(await http.close(anAttempt(), never)).toMatchObject({ type });
    });

    it('404 NOT_FOUND, with the time by the clock of the provider', async () => {
      const { http } = provider({ status: 404, body: { status: 'NOT_FOUND' } });
      const notFound = { type: 'NOT_FOUND', providerNow: new Date('2026-01-01T00:00:01.000Z') };
      expect(await http.query(anAttempt(), never)).toMatchObject(notFound);
      expect(await http.close(anAttempt(), never)).toMatchObject(notFound);
    });

    it.each<[string, Scripted]>([
      ['an unknown status', { body: { status: 'MAYBE' } }],
      ['a status of the other request', { body: { status: 'ALREADY_CLOSED' } }],
      ['no status', { body: {} }],
      ['CLOSED in a 404', { status: 404, body: { status: 'CLOSED' } }],
      ['NOT_FOUND in a 200', { body: { status: 'NOT_FOUND' } }],
      ['CLOSED in a 202', { status: 202, body: { status: 'CLOSED' } }],
      ['PAID without an amount', { body: { ...PAID, amount: undefined } }],
      ['PAID with amount 0', { body: { ...PAID, amount: '0' } }],
      ['PAID with a negative amount', { body: { ...PAID, amount: '-5' } }],
      ['PAID with an amount that is a number', { body: { ...PAID, amount: 19.99 } }],
      ['PAID with a currency in lower case', { body: { ...PAID, currency: 'eur' } }],
      ['PAID with an invalid date', { body: { ...PAID, paidAt: 'today' } }],
      ['PAID without a transaction id', { body: { ...PAID, transactionId: '' } }],
    ])('query: %s is UNKNOWN', async (_, scripted) => {
      const { http } = provider(scripted);
      const outcome = await http.query(anAttempt(), never);
      expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching('not recognized') as string });
      expect(outcome).not.toHaveProperty('outage');
    });
  });

  describe('untrusted answers', () => {
    it.each<[string, Scripted, RegExp]>([
      ['a forged signature', { secret: 'the-secret-of-somebody-else' }, /signature is wrong/],
      ['an unsigned answer', { signed: false }, /not signed/],
      ['an unsigned 404', { signed: false, status: 404, body: 'Not Found' }, /not signed/],
      ['a signature for another status', { signedStatus: 404 }, /signature is wrong/],
      ['an answer from 301 s ago', { skewSeconds: -301 }, /timestamp/],
      ['an answer from 301 s ahead', { skewSeconds: 301 }, /timestamp/],
      [
        'an answer about another reference',
        { body: { status: 'CLOSED', reference: 'ord-2' } },
        /another request \(reference/,
      ],
      ['an answer with an old nonce', { body: { status: 'CLOSED', nonce: 'old' } }, /another request \(nonce/],
      [
        'an answer for another merchant',
        { body: { status: 'CLOSED', merchantAccount: 'x' } },
        /another request \(merchant/,
      ],
      ['an answer that is not JSON', { body: '<html>' }, /body/],
      ['an answer without an echo', { body: '{"status":"CLOSED"}' }, /body/],
      ['a redirect', { signed: false, status: 302, headers: { location: 'http://evil.test/' } }, /status 302/],
    ])('%s is UNKNOWN for query and close', async (_, scripted, reason) => {
      const { http } = provider({ body: { status: 'CLOSED' }, ...scripted });
      for (const outcome of [await http.query(anAttempt(), never), await http.close(anAttempt(), never)]) {
        expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching(reason) as string });
      }
    });

    it('accepts an answer within 300 s of the current time', async () => {
      for (const skewSeconds of [-299, 300]) {
        const { http } = provider({ skewSeconds, body: { status: 'OPEN' } });
        expect(await http.query(anAttempt(), never)).toMatchObject({ type: 'OPEN' });
      }
    });

    it('an answer longer than the limit is UNKNOWN, even if signed', async () => {
      const { http } = provider({ body: { status: 'CLOSED', padding: 'x'.repeat(2_000) } }, { maxBodyBytes: 1_024 });
      expect(await http.close(anAttempt(), never)).toMatchObject({
        type: 'UNKNOWN',
        reason: expect.stringMatching('1024 bytes') as string,
      });
    });

    it('no signed body closes or pays a payment that it does not name', async () => {
      await fc.assert(
        fc.asyncProperty(fc.jsonValue(), fc.constantFrom(200, 201, 204, 400, 404, 409), async (value, status) => {
          const { http } = provider({});
          answerHttp((request) => {
            if (status === 204) return new Response(null, { status });
            return answerTo(request, { status, body: JSON.stringify(value) }, new ManualClock());
          });
          expect((await http.close(anAttempt(), never)).type).toBe('UNKNOWN');
        }),
        { numRuns: 50 },
      );
    });
  });

  describe('outages', () => {
    it.each([500, 502, 503, 504])('%i is UNKNOWN and counts as an outage', async (status) => {
      const { http } = provider({ status, signed: false, body: 'oops' });
      expect(await http.query(anAttempt(), never)).toMatchObject({ type: 'UNKNOWN', outage: true });
    });

    it('a signed 500 that says CLOSED is UNKNOWN', async () => {
      const { http } = provider({ status: 500, body: { status: 'CLOSED' } });
      expect(await http.close(anAttempt(), never)).toMatchObject({ type: 'UNKNOWN' });
    });

    it.each<[string, number | undefined]>([
      ['7', 7_000],
      ['999999', 60_000],
      ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
      ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
      ['later', undefined],
    ])('429 with Retry-After %s is UNKNOWN for %s ms and not an outage', async (header, retryAfterMs) => {
      const { http } = provider({ status: 429, signed: false, headers: { 'retry-after': header } });
      const outcome = await http.query(anAttempt(), never);
      expect(outcome).toMatchObject({ type: 'UNKNOWN', outage: false });
      expect(outcome).toEqual(expect.objectContaining(retryAfterMs === undefined ? {} : { retryAfterMs }));
      expect('retryAfterMs' in outcome).toBe(retryAfterMs !== undefined);
    });

    it('a refused connection is UNKNOWN with its cause', async () => {
      const { http } = provider({});
      jest.mocked(sendHttpRequest).mockRejectedValue(new Error('connect ECONNREFUSED'));
      expect(await http.query(anAttempt(), never)).toEqual({
        type: 'UNKNOWN',
        reason: 'no answer: connect ECONNREFUSED',
        outage: true,
      });
    });

    it('a refusal by several addresses is reported by its code', async () => {
      const { http } = provider({});
      const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
      jest.mocked(sendHttpRequest).mockRejectedValue(error);
      expect(await http.query(anAttempt(), never)).toMatchObject({ reason: 'no answer: ECONNREFUSED' });
    });

    it('repeats the request, with a new nonce and over a new connection, if the kept-alive one was closed', async () => {
      const { http, requests } = provider({ body: { status: 'CLOSED' } });
      jest.mocked(sendHttpRequest).mockRejectedValueOnce(new StaleConnectionError('closed'));
      expect(await http.close(anAttempt(), never)).toMatchObject({ type: 'CLOSED' });
      const calls = jest.mocked(sendHttpRequest).mock.calls.slice(-2);
      expect(calls.map(([, , { connection }]) => connection)).toEqual(['kept', 'new']);
      expect(new Set(calls.map(([{ nonce }]) => nonce)).size).toBe(2);
      expect(requests).toHaveLength(1);
    });

    it('an abort by the caller is UNKNOWN and not an outage', async () => {
      const { http } = provider({});
      jest.mocked(sendHttpRequest).mockRejectedValue(new DOMException('aborted', 'AbortError'));
      expect(await http.query(anAttempt(), AbortSignal.abort())).toEqual({
        type: 'UNKNOWN',
        reason: 'gave up waiting for the answer',
      });
    });
  });

  it.each([
    [{ merchantSecrets: { m1: SECRET } }, 'm1'],
    [{ merchantSecrets: { m1: SECRET, m2: SECRET } }, null],
    [{ secret: SECRET, merchantSecrets: { m1: SECRET } }, undefined],
  ])('takes an attempt without an account only if it has a secret for it: %j', (secrets, account) => {
    const given = { name: 'http', baseUrl: 'https://pay.test', ...secrets };
    expect(new HttpPaymentProvider(given, new ManualClock()).defaultAccount).toBe(account);
  });

  it('reports all invalid options at once and no secret', () => {
    const build = (): unknown =>
      new HttpPaymentProvider({ name: '', baseUrl: 'ftp://pay.test', secret: 'hunter2' }, new ManualClock());
    expect(build).toThrow(InvalidOptionsError);
    expect(build).toThrow(/3 problems: name: .*; baseUrl: .*; secret: /);
    expect(build).not.toThrow(/hunter2/);
  });

  it('requires at least one secret', () => {
    const build = (): unknown =>
      new HttpPaymentProvider({ name: 'pay', baseUrl: 'http://pay.test' }, new ManualClock());
    expect(build).toThrow(/give a secret/);
  });
});
