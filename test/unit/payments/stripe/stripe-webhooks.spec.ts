import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { type Notification, type NotificationReader } from '../../../../src/payments';
import { type StripeMerchant, StripeProvider } from '../../../../src/payments/stripe';
import { ManualClock } from '../../../support/manual-clock';
import { StripeBench } from './stripe-bench';
import { anEvent, anIntent, aSession } from './stripe-objects';

const SECRET = 'whsec_0123456789abcdef';
const KEY = 'sk_test_0123456789abcdef';
const clock = new ManualClock();

function readerOf(merchants: Record<string, StripeMerchant> = { shop: merchant() }): NotificationReader {
  const { notifications } = new StripeProvider({ merchants }, clock);
  if (!notifications) throw new Error('no webhook secret is configured');
  return notifications;
}

function merchant(fields: Partial<StripeMerchant> = {}): StripeMerchant {
  return { secretKey: KEY, webhookSecrets: [SECRET], ...fields };
}

interface Signing {
  readonly secret?: string;
  readonly ageSeconds?: number;
  readonly header?: (header: string) => string;
  readonly body?: (body: string) => string;
}

function send(event: object, { secret = SECRET, ageSeconds = 0, header, body }: Signing = {}, reader = readerOf()) {
  const given = JSON.stringify(event);
  const timestamp = Math.floor(clock.now() / 1_000) - ageSeconds;
  const signature = createHmac('sha256', secret).update(`${timestamp}.${given}`).digest('hex');
  const signed = `t=${timestamp},v1=${signature}`;
  const rawBody = Buffer.from(body?.(given) ?? given);
  return reader.read({ headers: { 'stripe-signature': header?.(signed) ?? signed }, rawBody });
}

describe('StripeWebhooks', () => {
  it('payment_intent.succeeded is PAID, with the id of the intent', async () => {
    const event = anEvent('payment_intent.succeeded', anIntent({ latest_charge: 'ch_1' }));
    expect(await send(event)).toEqual({
      type: 'PAID',
      reference: 'pi_1',
      merchantAccount: 'shop',
      amount: 1_999n,
      currency: 'EUR',
      paidAt: new Date(1_767_225_700_000),
      transactionId: 'ch_1',
      evidence: expect.objectContaining({ event: 'evt_1', eventType: 'payment_intent.succeeded' }) as unknown,
    });
  });

  it.each(['checkout.session.completed', 'checkout.session.async_payment_succeeded'])(
    '%s of a paid session is PAID, with the id of the session',
    async (type) => {
      const outcome = await send(anEvent(type, aSession({ payment_intent: 'pi_1' })));
      expect(outcome).toMatchObject({ type: 'PAID', reference: 'cs_1', amount: 1_999n, transactionId: 'pi_1' });
    },
  );

  it.each<[string, string, object, string]>([
    ['checkout.session.completed', 'not paid yet', aSession({ payment_status: 'unpaid' }), 'cs_1'],
    ['checkout.session.completed', 'free of charge', aSession({ payment_status: 'no_payment_required' }), 'cs_1'],
    ['checkout.session.completed', 'a subscription', aSession({ mode: 'subscription', payment_intent: null }), 'cs_1'],
    ['checkout.session.completed', 'in another currency', aSession({ currency_conversion: { fx_rate: '1' } }), 'cs_1'],
    ['checkout.session.completed', 'as another version writes it', { id: 'cs_1', amount_total: '19.99' }, 'cs_1'],
    ['checkout.session.expired', 'expired', aSession({ status: 'expired', payment_status: 'unpaid' }), 'cs_1'],
    ['checkout.session.async_payment_failed', 'failed', aSession({ payment_status: 'unpaid' }), 'cs_1'],
    ['payment_intent.canceled', 'canceled', anIntent({ status: 'canceled', amount_received: 0 }), 'pi_1'],
    ['payment_intent.processing', 'on its way', anIntent({ status: 'processing', amount_received: 0 }), 'pi_1'],
    ['payment_intent.succeeded', 'not succeeded', anIntent({ status: 'processing', amount_received: 0 }), 'pi_1'],
    ['payment_intent.succeeded', 'without a charge', anIntent({ latest_charge: null }), 'pi_1'],
    ['charge.refunded', 'refunded', { id: 'ch_1', object: 'charge', payment_intent: 'pi_1' }, 'pi_1'],
    ['refund.failed', 'not refunded', { id: 're_1', object: 'refund', payment_intent: 'pi_1' }, 'pi_1'],
  ])('%s, %s, is STATUS_CHANGED', async (type, _, object, reference) => {
    expect(await send(anEvent(type, { ...object }))).toMatchObject({
      type: 'STATUS_CHANGED',
      reference,
      merchantAccount: 'shop',
    });
  });

  const dispute = {
    ...{ id: 'dp_1', object: 'dispute', amount: 500, currency: 'eur', payment_intent: 'pi_1' },
    ...{ reason: 'fraudulent', status: 'needs_response', evidence_details: { due_by: 1_768_000_000 } },
  };

  it.each([
    ['charge.dispute.created', 'needs_response'],
    ['charge.dispute.created', 'warning_needs_response'],
    ['charge.dispute.funds_withdrawn', 'under_review'],
    ['charge.dispute.closed', 'lost'],
  ])('%s, %s, is a CHARGEBACK', async (type, status) => {
    expect(await send(anEvent(type, { ...dispute, charge: 'ch_1', status }))).toEqual({
      ...{ type: 'CHARGEBACK', reference: 'pi_1', merchantAccount: 'shop', amount: 500n, currency: 'EUR' },
      transactionId: 'ch_1',
      evidence: {
        ...{ event: 'evt_1', eventType: type, eventCreated: '2026-01-01T00:01:40.000Z', dispute: 'dp_1' },
        ...{ disputeReason: 'fraudulent', disputeStatus: status, evidenceDueBy: '2026-01-09T23:06:40.000Z' },
      },
    });
  });

  it.each([undefined, { id: 'ch_1' }])(
    'charge.dispute.created of the charge %j names the payment intent',
    async (charge) => {
      const told = await send(anEvent('charge.dispute.created', { ...dispute, charge }));
      expect(told).toMatchObject({ type: 'CHARGEBACK', reference: 'pi_1' });
      expect(told).not.toHaveProperty('transactionId');
    },
  );

  it.each<[string, object]>([
    ['charge.dispute.closed', { ...dispute, status: 'won' }],
    ['charge.dispute.closed', { ...dispute, status: 'warning_closed' }],
    ['charge.dispute.funds_reinstated', dispute],
    ['charge.dispute.created', { ...dispute, payment_intent: null }],
    ['customer.created', { id: 'cus_1' }],
    ['payment_intent.payment_failed', anIntent()],
    ['toString', {}],
    ['charge.refunded', { id: 'ch_1', payment_intent: null }],
    ['payment_intent.succeeded', { id: 'in_1' }],
  ])('%s is IGNORED', async (type, object) => {
    expect((await send(anEvent(type, { ...object }))).type).toBe('IGNORED');
  });

  it.each(['payment_intent.succeeded', 'payment_intent.canceled'])(
    '%s of an intent that belongs to a session is IGNORED, because the session has its own events',
    async (type) => {
      const byReference = anIntent({ payment_details: { order_reference: 'cs_test_a1' } });
      expect((await send(anEvent(type, byReference))).type).toBe('IGNORED');
      const byMark = anIntent({ metadata: { order_timeout_attempt: 'session' } });
      expect((await send(anEvent(type, byMark))).type).toBe('IGNORED');
      const ofTheHost = anIntent({ payment_details: { order_reference: 'order-1' } });
      expect((await send(anEvent(type, ofTheHost))).type).not.toBe('IGNORED');
    },
  );

  const paid = anEvent('payment_intent.succeeded', anIntent({ latest_charge: 'ch_1' }));

  it.each<[string, Signing]>([
    ['a changed amount', { body: (body) => body.replace('1999', '2999') }],
    ['another byte', { body: (body) => `${body} ` }],
    ['no body', { body: () => '' }],
    ['another secret', { secret: 'whsec_of-somebody-else' }],
    ['the API key as secret', { secret: KEY }],
    ['an old timestamp', { ageSeconds: 301 }],
    ['a timestamp in the future', { ageSeconds: -302 }],
    [
      'a fresher timestamp written over the old one',
      { ageSeconds: 301, header: (h) => h.replace(/t=\d+/, `t=${now()}`) },
    ],
    ['a second timestamp', { ageSeconds: 301, header: (header) => `${header},t=${now()}` }],
    ['no timestamp', { header: (header) => header.replace(/t=\d+,/, '') }],
    ['another scheme', { header: (header) => header.replace('v1=', 'v0=') }],
    ['an empty header', { header: () => '' }],
    ['a short signature', { header: (header) => header.slice(0, -1) }],
  ])('%s is REJECTED', async (_, signing) => {
    expect(await send(paid, signing)).toEqual({ type: 'REJECTED', reason: expect.any(String) as unknown });
  });

  it('a change of any one byte is REJECTED', async () => {
    const length = JSON.stringify(paid).length;
    const change = fc.record({ at: fc.nat(length - 1), by: fc.integer({ min: 1, max: 127 }) });
    await fc.assert(
      fc.asyncProperty(change, async ({ at, by }) => {
        const flip = (body: string): string =>
          body.slice(0, at) + String.fromCharCode(body.charCodeAt(at) ^ by) + body.slice(at + 1);
        expect((await send(paid, { body: flip })).type).toBe('REJECTED');
      }),
    );
  });

  it.each([299, 0, -299])('a timestamp %i s old is accepted', async (ageSeconds) => {
    expect((await send(paid, { ageSeconds })).type).toBe('PAID');
  });

  it('one valid signature of several is enough, as Stripe sends several while a secret is rolled', async () => {
    const header = (one: string): string => one.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`);
    expect((await send(paid, { header })).type).toBe('PAID');
  });

  it('a header with more signatures than Stripe sends is rejected unread', async () => {
    const header = (signed: string): string => `${signed}${`,v1=${'0'.repeat(64)}`.repeat(20)}`;
    expect(await send(anEvent('payment_intent.succeeded', anIntent()), { header })).toEqual({
      type: 'REJECTED',
      reason: 'its Stripe-Signature header is longer than 1024 characters',
    });
  });

  it('a webhook without a signature, or with two headers, is REJECTED', async () => {
    const rawBody = Buffer.from(JSON.stringify(paid));
    expect((await readerOf().read({ headers: {}, rawBody })).type).toBe('REJECTED');
    expect((await readerOf().read({ headers: { 'stripe-signature': ['a', 'b'] }, rawBody })).type).toBe('REJECTED');
  });

  it.each(['null', '[]', '{}', 'no JSON', '{"object":"v2.core.event"}'])('a signed %s is REJECTED', async (text) => {
    const timestamp = now();
    const signature = createHmac('sha256', SECRET).update(`${timestamp}.${text}`).digest('hex');
    const headers = { 'stripe-signature': `t=${timestamp},v1=${signature}` };
    expect((await readerOf().read({ headers, rawBody: Buffer.from(text) })).type).toBe('REJECTED');
  });

  it('both secrets are valid while one is being rolled', async () => {
    const reader = readerOf({ shop: merchant({ webhookSecrets: ['whsec_the-next-one', SECRET] }) });
    expect((await send(paid, {}, reader)).type).toBe('PAID');
    expect((await send(paid, { secret: 'whsec_the-next-one' }, reader)).type).toBe('PAID');
  });

  it('the merchant is the one whose secret fits', async () => {
    const reader = readerOf({
      a: merchant({ webhookSecrets: ['whsec_of-merchant-a'] }),
      b: merchant(),
      c: merchant({ webhookSecrets: [] }),
    });
    expect(await send(paid, {}, reader)).toMatchObject({ merchantAccount: 'b' });
    expect(await send(paid, { secret: 'whsec_of-merchant-a' }, reader)).toMatchObject({ merchantAccount: 'a' });
  });

  it('among connected accounts with one secret, the merchant is the one that the event names', async () => {
    const reader = readerOf({
      platform: merchant(),
      a: merchant({ stripeAccount: 'acct_a' }),
      b: merchant({ stripeAccount: 'acct_b' }),
    });
    expect(await send(paid, {}, reader)).toMatchObject({ merchantAccount: 'platform' });
    expect(await send({ ...paid, account: 'acct_b' }, {}, reader)).toMatchObject({ merchantAccount: 'b' });
    expect((await send({ ...paid, account: 'acct_c' }, {}, reader)).type).toBe('IGNORED');
  });

  it('events of the other mode are IGNORED, because a live endpoint of a platform receives them too', async () => {
    expect((await send({ ...paid, livemode: true })).type).toBe('IGNORED');
    const live = readerOf({ shop: merchant({ secretKey: KEY.replace('test', 'live') }) });
    expect((await send(paid, {}, live)).type).toBe('IGNORED');
    expect((await send({ ...paid, livemode: true }, {}, live)).type).toBe('PAID');
  });

  it('are answered so that Stripe stops or repeats the delivery', () => {
    expect(readerOf().reply('accepted')).toEqual({
      status: 200,
      contentType: 'application/json',
      body: '{"received":true}',
    });
    expect(readerOf().reply('later').status).toBe(500);
    expect(readerOf().reply('rejected').status).toBe(400);
  });
});

describe('the webhooks of the simulator', () => {
  it.each<['pi' | 'cs', Notification['type'][]]>([
    ['pi', ['PAID', 'STATUS_CHANGED']],
    ['cs', ['PAID', 'STATUS_CHANGED']],
  ])('are understood by the adapter: a paid and refunded %s', async (kind, types) => {
    const stripe = new StripeBench(clock);
    const { notifications } = new StripeProvider({ merchants: stripe.merchants }, clock);
    const attempt = stripe.attempt(kind);
    stripe.pay(attempt);
    stripe.payment(attempt).refundDirectly(clock.now());
    const read: (Notification | undefined)[] = [];
    for (const { headers, body } of stripe.posts) {
      read.push(await notifications?.read({ headers, rawBody: Buffer.from(body) }));
    }
    expect(read.map((one) => one?.type)).toEqual(types);
    expect(read[0]).toMatchObject({ reference: attempt.reference, merchantAccount: 'shop', amount: attempt.amount });
  });

  it.each(['pi', 'cs'] as const)('report a refund of a %s that failed later, and a dispute', async (kind) => {
    const stripe = new StripeBench(clock);
    const { notifications } = new StripeProvider({ merchants: stripe.merchants }, clock);
    const attempt = stripe.attempt(kind);
    stripe.pay(attempt);
    const payment = stripe.payment(attempt);
    payment.refundDirectly(clock.now());
    expect([payment.failRefund(clock.now()), payment.failRefund(clock.now())]).toEqual([true, false]);
    expect([payment.dispute(clock.now()), payment.dispute(clock.now())]).toEqual([true, false]);
    const read: (Notification | undefined)[] = [];
    for (const { headers, body } of stripe.posts.slice(2)) {
      read.push(await notifications?.read({ headers, rawBody: Buffer.from(body) }));
    }
    const reference = kind === 'pi' ? attempt.reference : `pi_${attempt.reference}`;
    expect(read).toMatchObject([
      { type: 'STATUS_CHANGED', reference, evidence: { eventType: 'refund.failed' } },
      { type: 'CHARGEBACK', reference, amount: attempt.amount, currency: 'EUR' },
    ]);
  });

  it.each(['pi', 'cs'] as const)('report a closed %s', async (kind) => {
    const stripe = new StripeBench(clock);
    const { notifications } = new StripeProvider({ merchants: stripe.merchants }, clock);
    const attempt = stripe.attempt(kind);
    stripe.payment(attempt).close(clock.now());
    const [post] = stripe.posts;
    const read = post && (await notifications?.read({ ...post, rawBody: Buffer.from(post.body) }));
    expect(read).toMatchObject({ type: 'STATUS_CHANGED', reference: attempt.reference });
  });
});

function now(): number {
  return Math.floor(clock.now() / 1_000);
}
