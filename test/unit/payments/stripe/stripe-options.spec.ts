import { SystemClock } from '../../../../src/clock';
import { InvalidOptionsError } from '../../../../src/errors';
import { STRIPE_RESILIENCE_DEFAULTS, type StripeOptions, StripeProvider } from '../../../../src/payments/stripe';

const SECRET = 'sk_test_0123456789abcdef';

function problemsOf(options: object): readonly string[] {
  try {
    new StripeProvider(options as StripeOptions, new SystemClock());
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
  return [];
}

describe('resolveStripeOptions', () => {
  it('requires only a merchant with its key', () => {
    const provider = new StripeProvider({ merchants: { shop: { secretKey: SECRET } } }, new SystemClock());
    expect(provider.name).toBe('stripe');
    expect(provider.resilienceDefaults).toBe(STRIPE_RESILIENCE_DEFAULTS);
    expect(provider.notifications).toBeUndefined();
  });

  it('reports all problems at once, without a secret', () => {
    const merchants = {
      a: { secretKey: 'pk_test_0123456789abcdef', stripeAccount: 'me' },
      b: { secretKey: SECRET, webhookSecrets: ['secret-of-the-endpoint'], livemode: true },
    };
    const problems = problemsOf({ merchants, baseUrl: 'ftp://stripe', timeoutMs: 0, extra: 1 });
    expect(problems.map((one) => one.split(':')[0])).toEqual(
      expect.arrayContaining([
        'merchants.a.secretKey',
        'merchants.a.stripeAccount',
        'merchants.b.webhookSecrets.0',
        'baseUrl',
        'timeoutMs',
        'options',
      ]),
    );
    expect(problems.join()).not.toMatch(/0123456789abcdef|secret-of-the-endpoint/);
  });

  it.each([
    [
      'whsec_123',
      'has only 3 characters after whsec_, which is too short for a webhook secret; copy it from Developers',
    ],
    ['123456789', 'must start with whsec_; copy it from Developers > Webhooks'],
  ])('says what is wrong with the webhook secret %s, without showing it', (secret, sentence) => {
    const problem = problemsOf(merchantsOf({ secretKey: SECRET, webhookSecrets: [secret] })).join();
    expect(problem).toContain(`merchants.shop.webhookSecrets.0: ${sentence}`);
    expect(problem).not.toContain('123');
  });

  it.each([
    ['no merchant', { merchants: {} }, /merchants/],
    ['a live key with test mode', merchantsOf({ secretKey: 'sk_live_12345678', livemode: false }), /livemode/],
    ['a test key with live mode', merchantsOf({ secretKey: SECRET, livemode: true }), /livemode/],
    ['http to another host', { ...merchantsOf({}), baseUrl: 'http://stripe.example.com' }, /loopback/],
    [
      'http to a host that looks like loopback',
      { ...merchantsOf({}), baseUrl: 'http://127.0.0.1.example.com' },
      /loop/,
    ],
  ])('rejects %s', (_, options, problem) => {
    expect(problemsOf(options).join()).toMatch(problem);
  });

  it.each(['https://proxy.example.com/stripe', 'http://localhost:4000', 'http://127.0.0.1:1/stripe', 'http://[::1]:1'])(
    'accepts %s as base URL',
    (baseUrl) => {
      expect(problemsOf({ ...merchantsOf({}), baseUrl })).toEqual([]);
    },
  );
});

function merchantsOf(fields: object): object {
  return { merchants: { shop: { secretKey: SECRET, ...fields } } };
}
