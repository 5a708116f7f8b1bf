import { type CloseOutcome, type PaymentAttemptRef } from '../../../../src/payments';
import { type StripeProvider } from '../../../../src/payments/stripe';
import { StripeBench } from './stripe-bench';
import { anIntent, aSession } from './stripe-objects';

describe('StripeProvider.close', () => {
  let stripe: StripeBench;
  let provider: StripeProvider;

  beforeAll(async () => (stripe = await new StripeBench().start()));
  afterAll(() => stripe.stop());
  beforeEach(() => {
    provider = stripe.provider();
    stripe.sent.length = 0;
    stripe.canned.length = 0;
    stripe.faults.clear();
  });

  function close(attempt: PaymentAttemptRef, by = provider): Promise<CloseOutcome> {
    return by.close(attempt, AbortSignal.timeout(10_000));
  }
  const keys = (): (string | undefined)[] =>
    stripe.sent.filter(({ method }) => method === 'POST').map(({ key }) => key);

  it('cancels an intent as abandoned', async () => {
    const attempt = stripe.attempt('pi');
    expect(await close(attempt)).toMatchObject({ type: 'CLOSED', evidence: { status: 'canceled' } });
    expect(stripe.sent[0]).toMatchObject({
      path: `/v1/payment_intents/${attempt.reference}/cancel`,
      key: `close:${attempt.reference}:1`,
    });
    expect(new URLSearchParams(stripe.sent[0]?.body).get('cancellation_reason')).toBe('abandoned');
    expect(stripe.status(attempt)).toBe('CLOSED');
  });

  it('expires a session', async () => {
    const attempt = stripe.attempt('cs');
    expect(await close(attempt)).toMatchObject({ type: 'CLOSED', evidence: { sessionStatus: 'expired' } });
    expect(stripe.sent[0]?.path).toBe(`/v1/checkout/sessions/${attempt.reference}/expire`);
    expect(stripe.status(attempt)).toBe('CLOSED');
  });

  it.each(['pi', 'cs'] as const)('queries the state after a refusal: %s', async (kind) => {
    const paid = stripe.attempt(kind);
    stripe.pay(paid);
    expect(await close(paid)).toMatchObject({ type: 'PAID' });
    const processing = stripe.attempt(kind, { script: { buyer: 'pays-after', ms: 0, processingMs: 60_000 } });
    expect(await close(processing)).toMatchObject({ type: 'IN_PROGRESS' });
    const closed = stripe.attempt(kind);
    await close(closed);
    expect(await close(closed)).toMatchObject({ type: 'ALREADY_CLOSED' });
    const refunded = stripe.attempt(kind);
    stripe.pay(refunded);
    stripe.payment(refunded).refundDirectly(Date.now());
    expect(await close(refunded)).toMatchObject({ type: 'ALREADY_CLOSED' });
  });

  it('does not close a session whose money is held', async () => {
    const attempt = stripe.attempt('cs', { script: { buyer: 'pays-after', ms: 0, authorizes: true } });
    expect(await close(attempt)).toMatchObject({ type: 'IN_PROGRESS' });
    expect(stripe.status(attempt)).toBe('AUTHORIZED');
  });

  it('is ALREADY_CLOSED for an expired session', async () => {
    const attempt = stripe.attempt('cs', { timeExpire: Date.now() - 1_000 });
    expect(await close(attempt)).toMatchObject({ type: 'ALREADY_CLOSED' });
  });

  it('asks to register the session id if the intent belongs to a session', async () => {
    const session = stripe.attempt('cs', { script: { buyer: 'pays-after', ms: 0, authorizes: true } });
    stripe.canned.push({ status: 400, body: ofCheckout });
    stripe.canned.push({ status: 200, body: anIntent({ status: 'requires_payment_method', amount_received: 0 }) });
    const outcome = await close({ ...session, reference: 'pi_1' });
    expect(outcome).toMatchObject({
      type: 'UNKNOWN',
      reason: expect.stringMatching(/register the session id/) as unknown,
    });
  });

  it.each([
    ['expired, but paid before', aSession({ status: 'expired' }), 'PAID'],
    ['expired, while the bank asks the buyer', expired('requires_action'), 'IN_PROGRESS'],
    ['expired, with nothing under way', expired('requires_payment_method'), 'CLOSED'],
    ['still open', { ...expired('requires_payment_method'), status: 'open' }, 'UNKNOWN'],
    ['another one', aSession({ id: 'cs_2', status: 'expired' }), 'UNKNOWN'],
  ])('trusts the state in the answer to expire: %s', async (_, body, type) => {
    stripe.canned.push({ status: 200, body });
    expect((await close({ ...stripe.attempt('cs'), reference: 'cs_1' })).type).toBe(type);
  });

  it.each([
    ['another intent', anIntent({ id: 'pi_2', status: 'canceled', amount_received: 0 })],
    ['the other mode', anIntent({ livemode: true, status: 'canceled', amount_received: 0 })],
    ['an intent that is still open', anIntent({ status: 'requires_action', amount_received: 0 })],
    ['an object that is not an intent', { id: 'pi_1', status: 'canceled' }],
  ])('does not treat %s as closed', async (_, body) => {
    stripe.canned.push({ status: 200, body });
    expect((await close({ ...stripe.attempt('pi'), reference: 'pi_1' })).type).toBe('UNKNOWN');
  });

  it('treats a 500 without an error as a failure', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'error-without-body', on: 'close', times: 1 });
    expect(await close(attempt)).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(stripe.status(attempt)).toBe('OPEN');
  });

  it('uses a new key after a 500, which Stripe stores under the old one', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'error', status: 500, on: 'close', times: 1 });
    expect(await close(attempt)).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(await close(attempt)).toMatchObject({ type: 'CLOSED' });
    expect(keys()).toEqual([1, 2].map((n) => `close:${attempt.reference}:${n}`));
  });

  it('skips the stored results of an earlier process', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'error', status: 500, on: 'close', times: 2 });
    await close(attempt);
    await close(attempt);
    expect(await close(attempt, stripe.provider())).toMatchObject({ type: 'CLOSED' });
    expect(keys().slice(2)).toEqual([1, 2, 3].map((n) => `close:${attempt.reference}:${n}`));
  });

  it('does not trust a stored refusal: an intent that has failed since then can be canceled', async () => {
    const attempt = stripe.attempt('pi');
    stripe.canned.push({ status: 400, body: refusal }, { status: 200, body: processing(attempt) });
    expect(await close(attempt)).toMatchObject({ type: 'IN_PROGRESS' });
    expect(await close(attempt)).toMatchObject({ type: 'CLOSED' });
    expect(keys()[1]).toBe(`close:${attempt.reference}:2`);
  });

  it('keeps the key if the answer was lost, and so gets the stored result', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'lost-response', on: 'close', times: 1 });
    expect(await close(attempt)).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(await close(attempt)).toMatchObject({ type: 'CLOSED' });
    expect(keys()).toEqual([1, 1].map((n) => `close:${attempt.reference}:${n}`));
    expect(stripe.payment(attempt).entry(Date.now()).closes).toBe(1);
  });

  it('keeps the key after a rate limit', async () => {
    const attempt = stripe.attempt('pi');
    stripe.fault({ fault: 'rate-limited', on: 'close', times: 1 });
    expect(await close(attempt)).toMatchObject({ type: 'UNKNOWN', reason: expect.stringMatching(/rate/) as unknown });
    expect(await close(attempt)).toMatchObject({ type: 'CLOSED' });
    expect(new Set(keys()).size).toBe(1);
  });

  it('stops if Stripe replays only stored failures', async () => {
    const attempt = stripe.attempt('pi');
    const stored = { status: 500, body: { error: { message: 'stored' } }, headers: { 'idempotent-replayed': 'true' } };
    stripe.canned.push(...Array<typeof stored>(20).fill(stored));
    expect(await close(attempt)).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(keys()).toHaveLength(6);
  });
});

const refusal = {
  error: { type: 'invalid_request_error', code: 'payment_intent_unexpected_state', message: 'status of processing' },
};
const ofCheckout = {
  error: {
    type: 'invalid_request_error',
    message: 'You cannot perform this action on PaymentIntents created by Checkout.',
  },
};

function processing({ reference }: PaymentAttemptRef): object {
  return anIntent({ id: reference, status: 'processing', amount_received: 0, latest_charge: null });
}

function expired(intent: string): object {
  const payment_intent = anIntent({ status: intent, amount_received: 0, latest_charge: null });
  return aSession({ status: 'expired', payment_status: 'unpaid', payment_intent });
}
