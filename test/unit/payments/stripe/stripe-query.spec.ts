import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type PaymentAttemptRef, type QueryOutcome } from '../../../../src/payments';
import { anAttempt } from '../an-attempt';
import { StripeBench } from './stripe-bench';
import { aCharge, anIntent, aSession } from './stripe-objects';

const INTENT = anAttempt({ provider: 'stripe', reference: 'pi_1', merchantAccount: 'shop' });
const SESSION = { ...INTENT, reference: 'cs_1' };

describe('StripeProvider.query', () => {
  let stripe: StripeBench;

  beforeAll(async () => (stripe = await new StripeBench().start()));
  afterAll(() => stripe.stop());
  beforeEach(() => {
    stripe.sent.length = 0;
    stripe.canned.length = 0;
  });

  function query(attempt: PaymentAttemptRef, status: number, body: unknown, headers?: Record<string, string>) {
    stripe.canned.push({ status, body, ...(headers ? { headers } : {}) });
    return stripe.provider({ timeoutMs: 2_000 }).query(attempt, AbortSignal.timeout(10_000));
  }

  it.each([
    ['requires_payment_method', 'OPEN'],
    ['requires_confirmation', 'OPEN'],
    ['requires_action', 'OPEN'],
    ['processing', 'PROCESSING'],
    ['requires_capture', 'AUTHORIZED'],
    ['canceled', 'CLOSED'],
    ['toString', 'UNKNOWN'],
    ['brand_new', 'UNKNOWN'],
  ])('an intent that is %s is %s', async (status, type) => {
    const outcome = await query(INTENT, 200, anIntent({ status, amount_received: 0, latest_charge: null }));
    expect(outcome.type).toBe(type);
    expect(stripe.sent[0]?.path).toBe('/v1/payment_intents/pi_1?expand[0]=latest_charge');
  });

  it('a succeeded intent is PAID with what Stripe received, by its charge', async () => {
    expect(await query(INTENT, 200, anIntent({ amount: 1_999, amount_received: 1_500 }))).toEqual({
      type: 'PAID',
      amount: 1_500n,
      currency: 'EUR',
      paidAt: new Date(1_767_225_600_000),
      transactionId: 'ch_1',
      evidence: expect.objectContaining({
        paymentIntent: 'pi_1',
        status: 'succeeded',
        amountReceived: '1500',
      }) as unknown,
    });
  });

  it('a partly refunded intent is PAID, and a fully refunded one REFUNDED', async () => {
    const inPart = anIntent({ latest_charge: aCharge({ amount_refunded: 500 }) });
    expect(await query(INTENT, 200, inPart)).toMatchObject({ type: 'PAID', amount: 1_999n });
    const inFull = anIntent({ latest_charge: aCharge({ amount_refunded: 1_999, refunded: true }) });
    expect(await query(INTENT, 200, inFull)).toMatchObject({ type: 'REFUNDED' });
  });

  it('accepts every integer amount exactly, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), async (amount_received) => {
        const outcome = await query(INTENT, 200, anIntent({ amount_received }));
        expect(outcome).toMatchObject({ type: 'PAID', amount: BigInt(amount_received) });
      }),
      { numRuns: 50 },
    );
    for (const amount_received of [19.99, -1, '1999', 2 ** 53, 1e30, null, 0]) {
      expect((await query(INTENT, 200, anIntent({ amount_received }))).type).toBe('UNKNOWN');
    }
  });

  it.each<[string, object, QueryOutcome['type']]>([
    ['open, not started', { status: 'open', payment_status: 'unpaid', payment_intent: null }, 'OPEN'],
    ['open, its buyer is asked by the bank', unpaid('open', 'requires_action'), 'OPEN'],
    ['open, but money was taken', { status: 'open' }, 'PAID'],
    ['complete and paid', {}, 'PAID'],
    ['complete, money is on its way', unpaid('complete', 'processing'), 'PROCESSING'],
    ['complete, a voucher waits to be paid', unpaid('complete', 'requires_action'), 'PROCESSING'],
    ['complete, money is held', unpaid('complete', 'requires_capture'), 'AUTHORIZED'],
    ['complete, its delayed payment failed', unpaid('complete', 'requires_payment_method'), 'CLOSED'],
    ['expired, never started', { status: 'expired', payment_status: 'unpaid', payment_intent: null }, 'CLOSED'],
    ['expired after a declined card', unpaid('expired', 'requires_payment_method'), 'CLOSED'],
    ['expired and canceled', unpaid('expired', 'canceled'), 'CLOSED'],
    ['expired, but the bank still asks the buyer', unpaid('expired', 'requires_action'), 'PROCESSING'],
    ['expired, but money is on its way', unpaid('expired', 'processing'), 'PROCESSING'],
    ['expired, but money was taken', { status: 'expired' }, 'PAID'],
    [
      'refunded',
      { payment_intent: anIntent({ latest_charge: aCharge({ refunded: true, amount_refunded: 1_999 }) }) },
      'REFUNDED',
    ],
    [
      'paid, with an intent that is not',
      { payment_intent: anIntent({ status: 'canceled', amount_received: 0 }) },
      'UNKNOWN',
    ],
    ['expired with an intent to be confirmed', unpaid('expired', 'requires_confirmation'), 'UNKNOWN'],
    ['free of charge', { payment_status: 'no_payment_required', payment_intent: null }, 'UNKNOWN'],
    ['a subscription', { mode: 'subscription', payment_intent: null }, 'UNKNOWN'],
    ['not expanded in the answer', { payment_intent: 'pi_1' }, 'UNKNOWN'],
    ['of an unknown status', unpaid('brand_new', 'requires_payment_method'), 'UNKNOWN'],
  ])('a session that is %s', async (_, fields, type) => {
    expect((await query(SESSION, 200, aSession({ ...fields }))).type).toBe(type);
  });

  it('a session uses the id of the intent as the transaction id, as its webhooks do', async () => {
    expect(await query(SESSION, 200, aSession())).toMatchObject({
      type: 'PAID',
      amount: 1_999n,
      transactionId: 'pi_1',
    });
  });

  it.each<[string, number, unknown, Partial<QueryOutcome>]>([
    ['another intent', 200, anIntent({ id: 'pi_2' }), { untrusted: true }],
    ['the other mode', 200, anIntent({ livemode: true }), { untrusted: true }],
    ['a canceled intent with money', 200, anIntent({ status: 'canceled' }), {}],
    ['a success without a charge', 200, anIntent({ latest_charge: null }), {}],
    ['a charge that is not expanded', 200, anIntent({ latest_charge: 'ch_1' }), {}],
    ['something else', 200, { id: 'pi_1', object: 'customer' }, {}],
    ['an empty object', 200, {}, {}],
    ['a list', 200, [], {}],
    ['null', 200, 'null', {}],
    ['HTML', 200, '<html>', { outage: true }],
    ['a 500 without an error, although it looks paid', 500, anIntent(), { outage: true }],
    ['a 202', 202, anIntent(), {}],
    ['a 503', 503, { error: { type: 'api_error', message: 'down' } }, { outage: true }],
    ['a wrong key', 401, { error: { type: 'invalid_request_error', message: 'no' } }, {}],
    ['a restricted key', 403, { error: { type: 'invalid_request_error', message: 'no' } }, {}],
    ['a lock', 409, { error: { type: 'invalid_request_error', code: 'lock_timeout', message: 'no' } }, {}],
    ['a path that does not exist', 404, { error: { type: 'invalid_request_error', message: 'no such URL' } }, {}],
    [
      'the right intent, asked for with the key of the other mode',
      404,
      missing('No such payment_intent; a similar object exists in live mode, but a test mode key was used'),
      {},
    ],
  ])('%s is UNKNOWN', async (_, status, body, fields) => {
    const outcome = await query(INTENT, status, body);
    const { reason, ...rest } = outcome as { reason: string };
    expect(rest).toMatchObject({ type: 'UNKNOWN', ...fields });
    expect({ outage: false, untrusted: false, ...rest }).toMatchObject({ outage: false, untrusted: false, ...fields });
    expect(reason).not.toMatch(/sk_test/);
  });

  it('a missing intent is NOT_FOUND, with the time by the clock of Stripe', async () => {
    const outcome = await query(INTENT, 404, missing('No such payment_intent'), {
      date: 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    expect(outcome).toMatchObject({ type: 'NOT_FOUND', providerNow: new Date('2026-01-01T00:00:00Z') });
  });

  it('a rate limit is UNKNOWN and not an outage, with the time to wait', async () => {
    const limited = { error: { type: 'invalid_request_error', code: 'rate_limit', message: 'slow down' } };
    const outcome = await query(INTENT, 429, limited, { 'retry-after': '3' });
    expect(outcome).toEqual({ type: 'UNKNOWN', reason: expect.stringMatching(/rate/) as unknown, retryAfterMs: 3_000 });
  });

  it.each(['ch_1', 'pi_', 'pi_1/../../refunds', 'pi_ä', 'order-1', ''])(
    'makes no request for %p',
    async (reference) => {
      const outcome = await stripe.provider().query({ ...INTENT, reference }, AbortSignal.timeout(10_000));
      expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching(/neither/) as unknown });
      expect(stripe.sent).toEqual([]);
    },
  );

  it('makes no request for an account that is not configured', async () => {
    const outcome = await stripe
      .provider()
      .query({ ...INTENT, merchantAccount: 'nobody' }, AbortSignal.timeout(10_000));
    expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching(/"nobody"/) as unknown });
    expect(stripe.sent).toEqual([]);
  });

  it('uses the key of the merchant, and its connected account', async () => {
    const { shop, other } = stripe.merchants;
    if (!shop || !other) throw new Error('no merchants');
    const provider = stripe.provider({ merchants: { shop, other: { ...other, stripeAccount: 'acct_1' } } });
    await provider.query({ ...INTENT, merchantAccount: 'other' }, AbortSignal.timeout(10_000));
    expect(stripe.sent[0]?.headers).toMatchObject({
      authorization: `Bearer ${other.secretKey}`,
      'stripe-account': 'acct_1',
    });
  });

  it('makes only one request, even if the connection is cut', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'drop', times: 1 });
    const outcome = await stripe.provider().query(attempt, AbortSignal.timeout(10_000));
    expect(outcome).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(stripe.sent).toHaveLength(1);
  });

  it('does not follow a redirect, which would show the secret key to another address', async () => {
    const { reference } = stripe.attempt('pi');
    const outcome = await query(INTENT, 302, '', { location: `${stripe.baseUrl}/v1/payment_intents/${reference}` });
    expect(outcome).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(stripe.sent).toHaveLength(1);
  });

  it('reads no answer that is longer than 2 MiB once it is decompressed', async () => {
    const long = gzipSync(JSON.stringify(anIntent()).padEnd(8 * 1_024 * 1_024));
    const server = createServer(
      (_, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(long),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const outcome = await stripe.provider({ baseUrl }).query(INTENT, AbortSignal.timeout(10_000));
    server.closeAllConnections();
    await once(server.close(), 'close');
    expect(outcome).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching(/longer than 2097152/) as unknown });
  });

  it('gives up after its own time-out', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'hang', times: 1 });
    const outcome = await stripe.provider({ timeoutMs: 100 }).query(attempt, AbortSignal.timeout(10_000));
    expect(outcome).toMatchObject({ type: 'UNKNOWN', outage: true });
  });

  it('gives up when its signal aborts, which is not an outage', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'hang', times: 1 });
    // Its own time-out is longer than a test may take.
    const outcome = await stripe.provider({ timeoutMs: 60_000 }).query(attempt, AbortSignal.timeout(100));
    expect(outcome).toEqual({ type: 'UNKNOWN', reason: expect.stringMatching(/gave up/) as unknown });
  });
});

function unpaid(status: string, intent: string): object {
  const payment_intent = anIntent({ status: intent, amount_received: 0, latest_charge: null });
  return { status, payment_status: 'unpaid', payment_intent };
}

function missing(message: string): object {
  return { error: { type: 'invalid_request_error', code: 'resource_missing', message } };
}
