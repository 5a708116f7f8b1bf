import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadCommandConfig } from '../../../src/service/command-context';
import { loadConfig } from '../../../src/service/config';
import { OrderPolicies } from '../../../src/orders';
import { InvalidOptionsError } from '../../../src/errors';

const HASH = 'a'.repeat(64);
const minimal = {
  DATABASE_URL: 'postgresql://u:secret-password@db/shop',
  RABBITMQ_URLS: 'amqp://a:secret-password@one, amqps://two',
  API_KEYS: `shop:${HASH}:orders:read+orders:write`,
};

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('fills in every default', () => {
    expect(loadConfig(minimal)).toEqual({
      http: { port: 3_000, host: '0.0.0.0', apiKeys: [minimal.API_KEYS], operatorKeys: [] },
      rateLimits: { perKey: 1_000, failuresPerAddress: 20, forgeriesPerAddress: 20 },
      database: { url: minimal.DATABASE_URL, poolSize: 20, schema: 'order_timeout', prepares: true },
      rabbit: {
        urls: ['amqp://a:secret-password@one', 'amqps://two'],
        prefix: 'order-timeout.v1',
        replyPrefixes: [],
        queueType: 'quorum',
      },
      transport: 'auto',
      ladder: { base: 64, unitMs: 1_000 },
      horizonMs: 86_400_000,
      sweep: { intervalMs: 2_000, marginMs: 3_000, budgetMs: 20_000 },
      orders: {},
      retention: { finishedOrdersMs: 0, idempotencyKeysMs: 2_592_000_000, settledMoneyMs: 0, intervalMs: 3_600_000 },
      paymentProvider: undefined,
      logLevel: 'info',
      shutdownTimeoutMs: 10_000,
    });
  });

  it('reads all variables', () => {
    const config = loadConfig({
      ...minimal,
      PORT: '8080',
      LADDER_BASE: '8',
      LADDER_UNIT_MS: '500',
      PAYMENT_WINDOW_MS: '900000',
      GRACE_MS: '5000',
      REMINDER_OFFSETS_MS: '60000, 10000',
      MERCHANT_POLICIES: '{"shop-1":{"graceMs":1,"graceMsByProvider":{"alipay":2}}}',
      RETENTION_FINISHED_ORDERS_MS: '63072000000',
      RETENTION_IDEMPOTENCY_KEYS_MS: '0',
      HTTP_PAYMENT_PROVIDER_URL: 'http://pay/v1',
      HTTP_PAYMENT_PROVIDER_SECRET: 's'.repeat(16),
    });
    expect(config).toMatchObject({
      http: { port: 8_080 },
      ladder: { base: 8, unitMs: 500 },
      orders: {
        paymentWindowMs: 900_000,
        graceMs: 5_000,
        reminderOffsetsMs: [60_000, 10_000],
        merchants: { 'shop-1': { graceMs: 1, graceMsByProvider: { alipay: 2 } } },
      },
      retention: { finishedOrdersMs: 63_072_000_000, idempotencyKeysMs: 0 },
      paymentProvider: { name: 'http', baseUrl: 'http://pay/v1', secret: 's'.repeat(16) },
    });
  });

  it('takes every policy for a single merchant', () => {
    const policy = new OrderPolicies({ placedEvents: 'send' }).of('any');
    const MERCHANT_POLICIES = JSON.stringify({ 'shop-1': policy });
    expect(loadConfig({ ...minimal, MERCHANT_POLICIES }).orders.merchants).toEqual({ 'shop-1': policy });
  });

  it.each([
    ['1', 1],
    ['loopback', ['loopback']],
    ['uniquelocal, 192.0.2.7, 2001:db8::/32', ['uniquelocal', '192.0.2.7', '2001:db8::/32']],
  ])('reads trusted proxies: %s', (text, trustProxy) => {
    expect(loadConfig({ ...minimal, TRUST_PROXY: text }).http.trustProxy).toEqual(trustProxy);
  });

  it('treats an empty variable as not set', () => {
    expect(loadConfig({ ...minimal, PORT: '', HORIZON_MS: '' })).toMatchObject({
      http: { port: 3_000 },
      horizonMs: 86_400_000,
    });
  });

  describe('with the key and passwords of docker-compose.yml', () => {
    const compose = readFileSync(join(__dirname, '../../../docker-compose.yml'), 'utf8');
    const published = (variable: string) => new RegExp(`\\$\\{${variable}:-([^}]+)\\}`).exec(compose)?.[1] ?? '';
    const defaults = {
      API_KEYS: published('API_KEYS'),
      DATABASE_URL: `postgresql://shop:${published('OT_POSTGRES_PASSWORD')}@postgres:5432/order_timeout`,
      RABBITMQ_URLS: `amqp://service:${published('OT_SERVICE_PASSWORD')}@rabbitmq:5672`,
    };

    it.each([
      { HOST: '127.0.0.1' },
      { HOST: 'localhost' },
      { HOST: '::1' },
      { PUBLISHED_ADDRESS: '127.0.0.1' },
      { PUBLISHED_ADDRESS: '[::1]' },
    ])('starts on %j', (address) => {
      expect(problemsOf({ ...defaults, ...address })).toEqual([]);
    });

    it.each([
      {},
      { HOST: '0.0.0.0' },
      { HOST: '::' },
      { HOST: '10.0.0.1' },
      { HOST: '127.0.0.1.example' },
      { HOST: '127.0.0.1', PUBLISHED_ADDRESS: '0.0.0.0' },
    ])('refuses %j, and names each variable to set', (address) => {
      const problems = problemsOf({ ...defaults, ...address });
      expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['API_KEYS', 'DATABASE_URL', 'RABBITMQ_URLS']);
      expect(problems.join()).toContain('set OT_POSTGRES_PASSWORD');
      expect(problems.join()).not.toContain('local-postgres');
      expect(problemsOf({ ...minimal, ...address })).toEqual([]);
    });

    it.each([
      ['the hash in capitals', { API_KEYS: defaults.API_KEYS.toUpperCase().replace('LOCAL', 'local') }],
      ['an administrator', { RABBITMQ_URLS: `amqp://admin:${published('RABBITMQ_DEFAULT_PASS')}@rabbitmq:5672` }],
      ['a password with escapes', { DATABASE_URL: defaults.DATABASE_URL.replace('local-p', 'local%2D%70') }],
      [
        'a key of the operator page',
        { OPERATOR_KEYS: `${defaults.API_KEYS.split(':').slice(0, 2).join(':')}:operate` },
      ],
      ['a sender', { RABBITMQ_URLS: `amqp://sender:${published('OT_SENDER_PASSWORD')}@rabbitmq:5672` }],
    ])('refuses %s as well', (_, changed) => {
      expect(problemsOf({ ...minimal, ...changed })).toEqual([expect.stringMatching(/everybody knows/)]);
    });

    it('lets a command run anywhere', () => {
      const environment = { ...defaults, PUBLISHED_ADDRESS: '0.0.0.0' };
      expect(() => loadCommandConfig(environment, ['DATABASE_URL', 'RABBITMQ_URLS'])).not.toThrow();
    });
  });

  it('reports all invalid variables at once', () => {
    const problems = problemsOf({
      PORT: '99999',
      DATABASE_URL: 'mysql://x',
      DATABASE_POOL_SIZE: 'many',
      DATABASE_SCHEMA: 'Drop Table',
      RABBITMQ_URLS: 'http://x',
      RABBITMQ_PREFIX: 'ä',
      RABBITMQ_QUEUE_TYPE: 'stream',
      DELAY_TRANSPORT: 'pigeon',
      LADDER_BASE: '1',
      HORIZON_MS: '-1',
      RETENTION_SETTLED_MONEY_MS: '3600000',
      SWEEP_INTERVAL_MS: '1e3',
      PAYMENT_WINDOW_MS: '0x10',
      MERCHANT_POLICIES: '{',
      API_KEYS: 'nonsense',
      HTTP_PAYMENT_PROVIDER_URL: 'ftp://x',
      HTTP_PAYMENT_PROVIDER_SECRET: 'short',
      LOG_LEVEL: 'loud',
      SHUTDOWN_TIMEOUT_MS: '1.5',
    });
    const named = new Set(problems.map((problem) => problem.split(/[ .]/)[0]));
    expect([...named].sort()).toEqual([
      'API_KEYS',
      'DATABASE_POOL_SIZE',
      'DATABASE_SCHEMA',
      'DATABASE_URL',
      'DELAY_TRANSPORT',
      'HORIZON_MS',
      'HTTP_PAYMENT_PROVIDER_SECRET',
      'HTTP_PAYMENT_PROVIDER_URL',
      'LADDER_BASE',
      'LOG_LEVEL',
      'MERCHANT_POLICIES',
      'PAYMENT_WINDOW_MS',
      'PORT',
      'RABBITMQ_PREFIX',
      'RABBITMQ_QUEUE_TYPE',
      'RABBITMQ_URLS',
      'RETENTION_SETTLED_MONEY_MS',
      'SHUTDOWN_TIMEOUT_MS',
      'SWEEP_INTERVAL_MS',
    ]);
  });

  it('requires the variables without a default', () => {
    expect(problemsOf({})).toEqual([
      'API_KEYS must be set',
      'DATABASE_URL must be set',
      'RABBITMQ_URLS must be set; "none" means that there is no broker',
    ]);
  });

  it.each([
    ['a policy out of range', { MERCHANT_POLICIES: '{"m":{"graceMs":-1}}' }, 'MERCHANT_POLICIES.m.graceMs must be'],
    ['an unknown policy', { MERCHANT_POLICIES: '{"m":{"grace":1}}' }, 'MERCHANT_POLICIES.m'],
    ['a policy of a reserved name', { MERCHANT_POLICIES: '{"__proto__":{"graceMs":1}}' }, 'must not use "__proto__" as a name'], // prettier-ignore
    [
      'true as trusted proxies',
      { TRUST_PROXY: 'true' },
      'TRUST_PROXY must be the number of proxies in front of the service',
    ],
    ['a network of all addresses', { TRUST_PROXY: 'loopback, 0.0.0.0/0' }, 'TRUST_PROXY must be the number'],
    ['a host name as proxy', { TRUST_PROXY: 'proxy.internal' }, 'TRUST_PROXY must be the number'],
    ['a provider without its secret', { HTTP_PAYMENT_PROVIDER_URL: 'http://x' }, 'must be set together'],
    [
      'a unit beyond the horizon',
      { LADDER_UNIT_MS: '5000', HORIZON_MS: '1000' },
      "HORIZON_MS must be at least the ladder's unitMs",
    ],
    ['an empty list of keys', { API_KEYS: ' , ' }, 'API_KEYS must name at least one key'],
    ['a broker beside none', { RABBITMQ_URLS: 'none,amqp://one' }, 'RABBITMQ_URLS.0 must be an amqp://'],
    [
      'a ladder without a broker',
      { RABBITMQ_URLS: 'none', DELAY_TRANSPORT: 'ladder' },
      'DELAY_TRANSPORT ladder needs a broker, but RABBITMQ_URLS is "none"',
    ],
    ['a "%" that begins no escape', { DATABASE_URL: 'postgres://u:S3%ZZ@h/d' }, 'DATABASE_URL must have each "%"'],
    ['a merchant that is null', { MERCHANT_POLICIES: '{"a":null}' }, 'MERCHANT_POLICIES.a must be an object'],
    [
      'a secret of webhooks that is none',
      { WEBHOOK_URL: 'https://a.example', WEBHOOK_SECRETS: 'x' },
      'WEBHOOK_SECRETS.0 must be "whsec_"',
    ],
    [
      'a login in the address of webhooks',
      { WEBHOOK_URL: 'https://u:p@a.example', WEBHOOK_SECRETS: `whsec_${'A'.repeat(32)}` },
      'WEBHOOK_URL must not contain a user or a password',
    ],
    ['an empty list of brokers', { RABBITMQ_URLS: ',' }, 'RABBITMQ_URLS must name at least one URL'],
  ])('rejects %s', (_, environment, problem) => {
    expect(problemsOf({ ...minimal, ...environment }).join('; ')).toContain(problem);
  });

  it('accepts several PostgreSQL servers, and rejects a standby without showing the password', () => {
    const servers = 'postgresql://u:hunter2@db-1:5432,db-2:5432/shop?target_session_attrs=';
    expect(problemsOf({ ...minimal, DATABASE_URL: `${servers}read-write` })).toEqual([]);
    expect(problemsOf({ ...minimal, DATABASE_URL: `${servers}standby` })).toEqual([
      'DATABASE_URL target_session_attrs must be read-write or primary: a standby takes no orders',
    ]);
  });

  it('never shows a password, a key, or a secret', () => {
    const problems = problemsOf({
      DATABASE_URL: 'mysql://u:hunter2@db',
      RABBITMQ_URLS: 'http://u:hunter2@mq',
      API_KEYS: 'shop:hunter2:*',
      HTTP_PAYMENT_PROVIDER_SECRET: 'hunter2',
    }).join('; ');
    expect(problems).not.toContain('hunter2');
  });
});
