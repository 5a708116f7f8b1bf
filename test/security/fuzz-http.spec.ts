import fc from 'fast-check';
import { KEYS } from '../e2e/running-service';
import { anyBody, anyId, anyText, wellFormed } from './arbitrary-values';
import { type AttackStage, LEAK, openAttackStage, SEEDS } from './attack-stage';
import { type RawAnswer, type RawRequest } from './raw-http';

const RUNS = 150;
const AT_ONCE = 30;

const encoded = (text: string): string => encodeURIComponent(wellFormed(text));
const segment = fc.oneof({ weight: 4, arbitrary: anyId.map(encoded) }, { weight: 1, arbitrary: anyId.map(pathSafe) });
const action = fc.constantFrom('attempts', 'paid', 'extend', 'cancel', 'auto-close', 'history', 'pay-check', 'nothing');

const path = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(segment, action).map(([id, name]) => `/orders/${id}/${name}`) },
  { weight: 2, arbitrary: segment.map((id) => `/orders/${id}`) },
  { weight: 2, arbitrary: segment.map((sku) => `/inventory/${sku}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '/orders',
      '/orders/bulk',
      '/orders/bulk/actions/extend',
      '/orders/bulk/actions/close',
      '/ORDERS/bulk/',
      '/orders//',
      '//orders',
      '/orders?x',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(segment, fc.constantFrom('notify', 'Notify/')).map(([name, end]) => `/payments/${name}/${end}`),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom('/Payments/stripe/Notify', '/payments/alipay/notify', 'http://x/payments/stripe/notify'),
  },
  { weight: 2, arbitrary: anyText.map((text) => `/timeouts/parked?afterKey=${encoded(text)}&limit=10`) },
  { weight: 1, arbitrary: anyText.map((text) => `/timeouts/parked?${pathSafe(text)}`) },
  { weight: 2, arbitrary: anyText.map((text) => `/orders?cursor=${encoded(text)}&status=${encoded(text)}`) },
  { weight: 1, arbitrary: anyText.map((text) => `/orders?${pathSafe(text)}`) },
  { weight: 1, arbitrary: fc.constantFrom('/timeouts/parked/replay', '/timeouts/parked/discard') },
  { weight: 1, arbitrary: fc.constantFrom('/metrics', '/health/live', '/health/ready', '*', '/') },
  { weight: 1, arbitrary: anyText.map((text) => `/${pathSafe(text)}`) },
);

const method = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('POST', 'GET', 'PUT') },
  { weight: 2, arbitrary: fc.constantFrom('PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'BREW') },
);

const headerText = anyText.map((text) => text.replace(/[\0\r\n]/g, ''));
const header = fc.oneof(
  fc.tuple(fc.constantFrom('traceparent', 'x-request-id', 'idempotency-key', 'x-forwarded-for', 'accept'), headerText),
  fc.tuple(fc.constant('content-encoding'), fc.constantFrom('gzip', 'deflate', 'br', 'identity', 'x')),
  fc.tuple(fc.constant('x-api-key'), headerText),
  fc.tuple(fc.stringMatching(/^[a-z-]{1,20}$/), headerText),
);
const contentType = fc.oneof(
  { weight: 8, arbitrary: fc.constant('application/json') },
  { weight: 1, arbitrary: fc.constantFrom('application/json; charset=utf-7', 'application/x+json', 'text/plain', 'multipart/form-data; boundary=x') }, // prettier-ignore
);
const key = fc.oneof(
  { weight: 6, arbitrary: fc.constant(KEYS.all) },
  { weight: 2, arbitrary: fc.constantFrom(KEYS.reader, KEYS.stock, `${KEYS.all} `, KEYS.all.toUpperCase(), '') },
);

const attack: fc.Arbitrary<RawRequest> = fc
  .record({ method, path, header: fc.array(header, { maxLength: 3 }), contentType, key, body: anyBody })
  .map(({ header: more, contentType: type, key: apiKey, ...rest }) => ({
    ...rest,
    headers: [['content-type', type], ['x-api-key', harmless(rest.path, apiKey)], ...more.filter(([name]) => !FRAMING.test(name))], // prettier-ignore
  }));

const FRAMING = /^(content-length|transfer-encoding|connection|host|expect|upgrade|trailer|te)$/;

/** Cancelling and asking need no body, so that with the right key they would be no attack on what is there. */
function harmless(to: string, apiKey: string): string {
  const isAllowed = SEEDS.some((seed) => to.includes(seed)) && /cancel|pay-check/.test(to);
  return isAllowed ? KEYS.reader : apiKey;
}

/** Everything that a request line can carry: no blanks, no control characters. */
function pathSafe(text: string): string {
  return Buffer.from(wellFormed(text))
    .toString('latin1')
    .replace(/[^\x21-\x7e]/g, '');
}

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('fuzzed HTTP requests', () => {
  let stage: AttackStage;

  beforeAll(async () => {
    stage = await openAttackStage();
  });
  afterAll(() => stage.close());

  it('are all answered by a problem or in order, never by a fault, and change no order', async () => {
    const before = await stage.fingerprint();
    const statuses = new Map<number, number>();
    const batch = fc.array(attack, { minLength: AT_ONCE, maxLength: AT_ONCE });
    await fc.assert(
      fc.asyncProperty(batch, async (requests) => {
        const answers = await Promise.all(requests.map((request) => stage.ask(request)));
        answers.forEach((answer, index) => {
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          expect(faultOf(requests[index], answer)).toBeUndefined();
        });
      }),
      { numRuns: RUNS, endOnFailure: true, interruptAfterTimeLimit: 150_000, markInterruptAsFailure: true },
    );
    if (process.env.TEST_FIGURES) process.stderr.write(`HTTP ${JSON.stringify([...statuses].sort())}\n`);
    expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(RUNS * AT_ONCE);
    // Proof that the attacks got far: refused by their content, and not only by their key or path.
    expect(statuses.get(400)).toBeGreaterThan(RUNS * 5);
    expect(await stage.fingerprint()).toBe(before);
    expect((await stage.service.call('get', '/health/ready')).body.status).toBe('ready');
  });
});

/** What is wrong with an answer; undefined: nothing. */
function faultOf(request: RawRequest | undefined, { status, headers, text, wire }: RawAnswer): string | undefined {
  const { method: asked, path: to, headers: sent, body } = request ?? {};
  const about = `${asked} ${to} ${JSON.stringify(sent)} ${body?.toString().slice(0, 300)}\n=> ${wire.slice(0, 800)}`;
  if (status === 0) return `no answer: ${about}`;
  if (status >= 500) return `a fault: ${about}`;
  if (LEAK.test(text)) return `tells too much: ${about}`;
  if (status < 400 || asked === 'HEAD' || /\/payments\/(alipay|stripe|wechat-pay)\/notify/i.test(to ?? ''))
    return undefined;
  // Node's parser answers for what is no HTTP at all, before there is a request.
  if (headers['connection'] === 'close' && text === '' && status === 400) return undefined;
  if (!headers['content-type']?.startsWith('application/problem+json')) return `no problem: ${about}`;
  const { code, status: told } = JSON.parse(text) as { code?: unknown; status?: unknown };
  return typeof code === 'string' && told === status ? undefined : `an odd problem: ${about}`;
}
