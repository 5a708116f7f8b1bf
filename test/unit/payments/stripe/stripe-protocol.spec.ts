import { StripeBench } from './stripe-bench';

/** The simulator's side, asked as any shop would, without the SDK. */
describe('the simulator of Stripe', () => {
  let stripe: StripeBench;

  beforeAll(async () => (stripe = await new StripeBench().start()));
  afterAll(() => stripe.stop());
  beforeEach(() => stripe.faults.clear());

  async function call(
    method: string,
    path: string,
    form: Record<string, string> = {},
    headers: Record<string, string> = {},
  ) {
    const authorization = `Bearer ${stripe.merchants['shop']?.secretKey ?? ''}`;
    const body = method === 'GET' ? {} : { body: new URLSearchParams(form) };
    const response = await fetch(`${stripe.baseUrl}${path}`, {
      method,
      headers: { authorization, ...headers },
      ...body,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text) as Record<string, unknown> };
  }

  it('creates an intent that can be retrieved and paid', async () => {
    const made = await call('POST', '/v1/payment_intents', {
      amount: '1999',
      currency: 'eur',
      'metadata[order_id]': 'o-1',
    });
    expect(made).toMatchObject({
      status: 200,
      body: { status: 'requires_payment_method', metadata: { order_id: 'o-1' } },
    });
    const id = String(made.body['id']);
    expect(stripe.ledger.find('stripe', id)?.payment.pay(Date.now())).toBe('accepted');
    const { body } = await call('GET', `/v1/payment_intents/${id}`);
    expect(body).toMatchObject({
      status: 'succeeded',
      amount_received: 1_999,
      latest_charge: expect.stringMatching(/^ch_/) as unknown,
    });
  });

  it('creates a session with the sum of its lines, whose intent is created when the buyer pays', async () => {
    const made = await call('POST', '/v1/checkout/sessions', sessionForm(1_860));
    expect(made.body).toMatchObject({ amount_total: 2_500, status: 'open', payment_intent: null });
    const id = String(made.body['id']);
    expect((await call('GET', `/v1/payment_intents/pi_${id}`)).status).toBe(404);
    stripe.ledger.find('stripe', id)?.payment.pay(Date.now());
    const { body } = await call('GET', `/v1/checkout/sessions/${id}?expand[]=payment_intent`);
    expect(body).toMatchObject({ status: 'complete', payment_status: 'paid', payment_intent: { status: 'succeeded' } });
    const cancelled = await call('POST', `/v1/payment_intents/pi_${id}/cancel`);
    expect(cancelled).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/Checkout/) as unknown } },
    });
  });

  it.each([[1_000], [100_000]])('refuses a session that is open for %i s', async (seconds) => {
    expect((await call('POST', '/v1/checkout/sessions', sessionForm(seconds))).status).toBe(400);
  });

  it.each([
    ['no amount', { currency: 'eur' }],
    ['half a cent', { amount: '10.5', currency: 'eur' }],
    ['no currency', { amount: '10' }],
  ])('refuses an intent with %s', async (_, form) => {
    const { status, body } = await call('POST', '/v1/payment_intents', form);
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error' } } });
  });

  it('rejects requests without a key, and requests for payments of others', async () => {
    const attempt = stripe.attempt('pi', { merchantAccount: 'other' });
    expect((await call('GET', `/v1/payment_intents/${attempt.reference}`)).status).toBe(404);
    const { status } = await call(
      'GET',
      `/v1/payment_intents/${attempt.reference}`,
      {},
      { authorization: 'Bearer sk' },
    );
    expect(status).toBe(401);
  });

  it('stores the first result of an idempotency key, even a 500, and requires the same parameters', async () => {
    const { reference } = stripe.attempt('pi');
    const key = { 'idempotency-key': 'k-1' };
    stripe.fault({ fault: 'error-without-body', on: 'close', times: 1 });
    const first = await call('POST', `/v1/payment_intents/${reference}/cancel`, {}, key);
    const again = await call('POST', `/v1/payment_intents/${reference}/cancel`, {}, key);
    expect([first.status, again.status]).toEqual([500, 500]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const other = await call(
      'POST',
      `/v1/payment_intents/${reference}/cancel`,
      { cancellation_reason: 'duplicate' },
      key,
    );
    expect(other).toMatchObject({ status: 400, body: { error: { type: 'idempotency_error' } } });
    expect((await call('POST', `/v1/payment_intents/${reference}/cancel`)).status).toBe(200);
  });

  it('stores a result whose answer was lost', async () => {
    const { reference } = stripe.attempt('pi');
    const key = { 'idempotency-key': 'k-2' };
    stripe.fault({ fault: 'lost-response', on: 'close', times: 1 });
    await expect(call('POST', `/v1/payment_intents/${reference}/cancel`, {}, key)).rejects.toThrow();
    expect(await call('POST', `/v1/payment_intents/${reference}/cancel`, {}, key)).toMatchObject({ status: 200 });
  });

  it('stores nothing for a call that was not processed', async () => {
    const { reference } = stripe.attempt('pi');
    const key = { 'idempotency-key': 'k-3' };
    stripe.fault({ fault: 'rate-limited', on: 'close', times: 1 });
    const limited = await call('POST', `/v1/payment_intents/${reference}/cancel`, {}, key);
    expect(limited).toMatchObject({ status: 429, body: { error: { code: 'rate_limit' } } });
    expect((await call('POST', `/v1/payment_intents/${reference}/cancel`, {}, key)).status).toBe(200);
  });

  it('makes a second refund with the same number for another key, as Stripe does', async () => {
    const attempt = stripe.attempt('pi');
    stripe.pay(attempt);
    const form = { payment_intent: attempt.reference, amount: '500', 'metadata[refundNumber]': 'n' };
    for (const key of ['k-4', 'k-4', 'k-5']) await call('POST', '/v1/refunds', form, { 'idempotency-key': key });
    const { body } = await call('GET', `/v1/refunds?payment_intent=${attempt.reference}&limit=1`);
    expect(body).toMatchObject({ has_more: true, data: [{ amount: 500, metadata: { refundNumber: 'n' } }] });
    expect(stripe.payment(attempt).entry(Date.now()).refundedAmount).toBe('1000');
  });

  it.each([
    ['garbage', '<html>'],
    ['unrecognised', '"status":"maybe"'],
    ['wrong-reference', '"id":"pi_of_somebody_else"'],
  ] as const)('spoils an answer with %s', async (fault, expected) => {
    const { reference } = stripe.attempt('pi');
    stripe.fault({ fault, times: 1 });
    const authorization = `Bearer ${stripe.merchants['shop']?.secretKey ?? ''}`;
    const response = await fetch(`${stripe.baseUrl}/v1/payment_intents/${reference}`, { headers: { authorization } });
    expect(await response.text()).toContain(expected);
  });

  it('redelivers its webhooks for three days, until they are answered with 2xx', () => {
    const { protocol } = stripe;
    const total = protocol.retryDelaysMs.reduce((sum, ms) => sum + ms, 0);
    expect(total / 3_600_000).toBeGreaterThan(71);
    expect(total / 3_600_000).toBeLessThanOrEqual(72);
    expect([200, 204, 301, 400, 500].map((status) => protocol.isAcknowledged(status))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

function sessionForm(seconds: number): Record<string, string> {
  return {
    mode: 'payment',
    expires_at: String(Math.floor(Date.now() / 1_000) + seconds),
    'line_items[0][price_data][unit_amount]': '1000',
    'line_items[0][price_data][currency]': 'eur',
    'line_items[0][quantity]': '2',
    'line_items[1][price_data][unit_amount]': '500',
    'line_items[1][quantity]': '1',
  };
}
