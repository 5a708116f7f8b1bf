import { randomUUID } from 'node:crypto';
import { type PaymentAttemptRef, type RefundOutcome, type RefundRequest } from '../../../../src/payments';
import { type StripeProvider } from '../../../../src/payments/stripe';
import { StripeBench } from './stripe-bench';

describe('StripeProvider.refund', () => {
  let stripe: StripeBench;
  let provider: StripeProvider;
  let refundNumber = '';

  beforeAll(async () => (stripe = await new StripeBench().start()));
  afterAll(() => stripe.stop());
  beforeEach(() => {
    provider = stripe.provider();
    refundNumber = randomUUID().replaceAll('-', '');
    stripe.sent.length = 0;
    stripe.canned.length = 0;
    stripe.faults.clear();
  });

  function refund(
    attempt: PaymentAttemptRef,
    fields: Partial<RefundRequest> = {},
    by = provider,
  ): Promise<RefundOutcome> {
    return by.refund(stripe.refundOf(attempt, { refundNumber, ...fields }), AbortSignal.timeout(10_000));
  }
  function paid(kind: 'pi' | 'cs' = 'pi', terms: Parameters<StripeBench['attempt']>[1] = {}): PaymentAttemptRef {
    const attempt = stripe.attempt(kind, terms);
    stripe.pay(attempt);
    return attempt;
  }
  const givenBack = (attempt: PaymentAttemptRef): string => stripe.payment(attempt).entry(Date.now()).refundedAmount;
  const created = () => stripe.sent.filter(({ path, method }) => path === '/v1/refunds' && method === 'POST');

  it.each(['pi', 'cs'] as const)('refunds a %s, with the refund number', async (kind) => {
    const attempt = paid(kind);
    expect(await refund(attempt)).toMatchObject({
      type: 'REFUNDED',
      refundId: expect.stringMatching(/^re_/) as unknown,
    });
    expect(stripe.status(attempt)).toBe('REFUNDED');
    const form = new URLSearchParams(created()[0]?.body);
    expect(form.get('metadata[refundNumber]')).toBe(refundNumber);
    expect(form.get('amount')).toBe('1999');
    expect(created()[0]?.key).toBe(`refund:${refundNumber}:1`);
  });

  it.each(['pi', 'cs'] as const)('of a %s that failed later is rejected, and not made again', async (kind) => {
    const attempt = paid(kind);
    await refund(attempt);
    expect(stripe.payment(attempt).failRefund(Date.now())).toBe(true);
    const failed = { type: 'REJECTED', reason: 'refund failed: expired_or_canceled_card' };
    expect(await refund(attempt, {}, stripe.provider())).toMatchObject(failed);
    expect(created()).toHaveLength(1);
    expect([stripe.status(attempt), givenBack(attempt)]).toEqual(['PAID', '0']);
  });

  it('refunds the intent that took the money, whatever the session says now', async () => {
    const attempt = paid('cs');
    const found = await provider.query(attempt, AbortSignal.timeout(10_000));
    const transactionId = found.type === 'PAID' ? found.transactionId : 'not paid';
    stripe.sent.length = 0;
    expect(await refund(attempt, { transactionId })).toMatchObject({ type: 'REFUNDED' });
    expect(stripe.sent.map(({ path }) => path).filter((path) => path.includes('/sessions/'))).toEqual([]);
    expect(new URLSearchParams(created()[0]?.body).get('payment_intent')).toBe(transactionId);
  });

  it('makes a partial refund', async () => {
    const attempt = paid();
    expect(await refund(attempt, { amount: 500n })).toMatchObject({ type: 'REFUNDED' });
    expect(givenBack(attempt)).toBe('500');
  });

  it('refunds once, however often and by whichever process it is called', async () => {
    const attempt = paid();
    for (let call = 0; call < 3; call += 1) {
      expect(await refund(attempt, { amount: 500n }, stripe.provider())).toMatchObject({ type: 'REFUNDED' });
    }
    expect(created()).toHaveLength(1);
    expect(givenBack(attempt)).toBe('500');
  });

  it('refunds once if two calls are concurrent', async () => {
    const attempt = paid();
    const outcomes = await Promise.all([1, 2].map(() => refund(attempt, { amount: 500n }, stripe.provider())));
    expect(outcomes.map(({ type }) => type)).toContain('REFUNDED');
    expect(givenBack(attempt)).toBe('500');
  });

  it('finds the refund whose answer was lost', async () => {
    const attempt = paid();
    stripe.fault({ fault: 'lost-response', on: 'refund', times: 1 });
    expect(await refund(attempt, { amount: 500n })).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(await refund(attempt, { amount: 500n }, stripe.provider())).toMatchObject({ type: 'REFUNDED' });
    expect(givenBack(attempt)).toBe('500');
  });

  it('skips a stored 500, but only after Stripe replayed it', async () => {
    const attempt = paid();
    stripe.fault({ fault: 'error', status: 500, on: 'refund', times: 1 });
    expect(await refund(attempt)).toMatchObject({ type: 'UNKNOWN', outage: true });
    expect(await refund(attempt)).toMatchObject({ type: 'REFUNDED' });
    expect(created().map(({ key }) => key?.split(':').at(-1))).toEqual(['1', '1', '2']);
  });

  it('skips a key that was used with another reason', async () => {
    const attempt = paid();
    stripe.fault({ fault: 'error', status: 500, on: 'refund', times: 1 });
    await refund(attempt, { reason: 'of the release before' });
    expect(await refund(attempt)).toMatchObject({ type: 'REFUNDED' });
    expect(givenBack(attempt)).toBe('1999');
  });

  it('does not accept the stored refusal of another process', async () => {
    const attempt = paid('pi', { rejectRefunds: 1 });
    expect(await refund(attempt)).toMatchObject({ type: 'REJECTED' });
    expect(await refund(attempt, {}, stripe.provider())).toMatchObject({ type: 'REFUNDED' });
    expect(givenBack(attempt)).toBe('1999');
  });

  it('is PENDING while Stripe works on it', async () => {
    const attempt = paid('pi', { refundProcessingMs: 60_000 });
    expect(await refund(attempt)).toMatchObject({ type: 'PENDING' });
    expect(await refund(attempt)).toMatchObject({ type: 'PENDING' });
    expect(created()).toHaveLength(1);
  });

  it('is REJECTED if Stripe refuses it for good', async () => {
    const attempt = paid('pi', { rejectRefunds: 1 });
    expect(await refund(attempt)).toMatchObject({
      type: 'REJECTED',
      reason: expect.stringMatching(/balance_insuff/) as unknown,
    });
  });

  it('is REJECTED if the payment is already fully refunded', async () => {
    const attempt = paid();
    stripe.payment(attempt).refundDirectly(Date.now());
    expect(await refund(attempt)).toMatchObject({
      type: 'REJECTED',
      reason: expect.stringMatching(/already_refunded/) as unknown,
    });
  });

  it.each([
    ['succeeded', 'REFUNDED'],
    ['pending', 'PENDING'],
    ['requires_action', 'PENDING'],
    ['failed', 'REJECTED'],
    ['canceled', 'REJECTED'],
    ['brand_new', 'UNKNOWN'],
    [null, 'UNKNOWN'],
  ])('an existing refund that is %s is %s', async (status, type) => {
    const attempt = paid();
    stripe.canned.push(
      { status: 200, body: intentOf(attempt) },
      { status: 200, body: listOf(attempt, refundNumber, { status }) },
    );
    expect((await refund(attempt)).type).toBe(type);
    expect(created()).toEqual([]);
  });

  it.each([
    ['amount', { amount: 1_998 }],
    ['currency', { currency: 'usd' }],
    ['payment intent', { payment_intent: 'pi_other' }],
  ])('a refund with that number and another %s is not trusted', async (what, fields) => {
    const attempt = paid();
    stripe.canned.push(
      { status: 200, body: intentOf(attempt) },
      { status: 200, body: listOf(attempt, refundNumber, fields) },
    );
    const outcome = await refund(attempt);
    expect(outcome).toMatchObject({
      type: 'UNKNOWN',
      untrusted: true,
      reason: expect.stringContaining(what) as unknown,
    });
    expect(created()).toEqual([]);
  });

  it('makes no refund while it cannot be sure that none exists', async () => {
    const attempt = paid();
    const intent = { status: 200, body: intentOf(attempt) };
    const others = { ...listOf(attempt, refundNumber, { metadata: {} }), has_more: true };
    stripe.canned.push(intent, { status: 200, body: others });
    expect(await refund(attempt)).toMatchObject({
      type: 'UNKNOWN',
      reason: expect.stringMatching(/more than/) as unknown,
    });
    stripe.canned.push(intent, { status: 200, body: { object: 'list', data: [{}], has_more: false } });
    expect((await refund(attempt)).type).toBe('UNKNOWN');
    stripe.canned.push(intent, { status: 503, body: {} });
    expect((await refund(attempt)).type).toBe('UNKNOWN');
    expect(created()).toEqual([]);
  });

  it.each<[string, Partial<RefundRequest>, object]>([
    ['it was paid in another currency', { currency: 'USD' }, {}],
    ['more is requested than was received', { amount: 2_000n }, {}],
    ['it has the other mode', {}, { livemode: true }],
  ])('refunds nothing if %s', async (_, fields, intent) => {
    const attempt = paid();
    stripe.canned.push({ status: 200, body: { ...intentOf(attempt), ...intent } });
    expect((await refund(attempt, fields)).type).toBe('UNKNOWN');
    expect(created()).toEqual([]);
  });

  it.each(['pi', 'cs'] as const)('refunds nothing for a %s that is unpaid or does not exist', async (kind) => {
    expect((await refund(stripe.attempt(kind))).type).toBe('UNKNOWN');
    expect((await refund({ ...stripe.attempt(kind), reference: `${kind}_none` })).type).toBe('UNKNOWN');
    expect((await refund({ ...stripe.attempt(kind), reference: 'order-1' })).type).toBe('UNKNOWN');
    expect((await refund({ ...stripe.attempt(kind), merchantAccount: 'nobody' })).type).toBe('UNKNOWN');
    expect(created()).toEqual([]);
  });

  it.each([
    [400, 'parameter_invalid_integer', 'UNKNOWN'],
    [400, 'charge_disputed', 'REJECTED'],
    [401, '', 'UNKNOWN'],
    [429, 'rate_limit', 'UNKNOWN'],
  ])('a refusal with %i %s is %s', async (status, code, type) => {
    const attempt = paid();
    const none = { object: 'list', data: [], has_more: false };
    stripe.canned.push({ status: 200, body: intentOf(attempt) }, { status: 200, body: none });
    stripe.canned.push({ status, body: { error: { type: 'invalid_request_error', code, message: 'no' } } });
    expect((await refund(attempt)).type).toBe(type);
  });
});

function intentOf({ reference }: PaymentAttemptRef): object {
  const money = { amount_received: 1_999, currency: 'eur' };
  return { id: reference, object: 'payment_intent', status: 'succeeded', livemode: false, ...money };
}

function listOf({ reference }: PaymentAttemptRef, refundNumber: string, fields: object): object {
  const refund = {
    id: 're_1',
    object: 'refund',
    status: 'succeeded',
    amount: 1_999,
    currency: 'eur',
    payment_intent: reference,
    metadata: { refundNumber },
    ...fields,
  };
  return { object: 'list', data: [refund], has_more: false };
}
