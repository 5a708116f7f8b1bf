import { DataSource } from 'typeorm';
import { InvalidOptionsError, OrderTimeoutModule } from '../../../src';
import { TimeoutsModule } from '../../../src/public/timeouts';
import { resolveOrderTimeoutOptions } from '../../../src/module/order-timeout-options';
import { resolveTimeoutsOptions } from '../../../src/timeouts/model/timeouts-options';

const good = { dataSource: new DataSource({ type: 'postgres' }), rabbit: { urls: ['amqp://mq'] } };

function problemsOf(check: () => unknown): readonly string[] {
  try {
    check();
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems;
    throw error;
  }
  return [];
}

const ofModule = (extra: object): readonly string[] =>
  problemsOf(() => resolveOrderTimeoutOptions({ ...good, ...extra }, {}));
const ofTimeouts = (extra: object): readonly string[] =>
  problemsOf(() => resolveTimeoutsOptions({ ...good, ...extra }));

const call = () => undefined;
const bank = { name: 'bank', query: call, close: call, refund: call };

const MODULE_OPTIONS =
  'dataSource, database, rabbit, schema, transport, ladder, horizonMs, sweep, consume, shutdownTimeoutMs, ' +
  'orders, retention, providers, resilience, apiKeys, operatorKeys, rateLimits, webhooks, migrate';

describe('an option that does not exist', () => {
  it('is reported, with those that do', () => {
    expect(ofModule({ apiKey: ['x'] })).toEqual([`unknown option "apiKey"; the options are ${MODULE_OPTIONS}`]);
    expect(ofTimeouts({ providers: [] })).toEqual([
      'unknown option "providers"; the options are dataSource, database, rabbit, schema, transport, ladder, horizonMs, ' +
        'sweep, consume, shutdownTimeoutMs',
    ]);
  });

  it.each([
    [{ rabbit: { urls: ['amqp://mq'], url: 'x' } }, 'unknown option "rabbit.url"; the options are urls, prefix, '],
    [{ sweep: { interval: 1 } }, 'unknown option "sweep.interval"; the options are intervalMs, marginMs, budgetMs'],
    [{ ladder: { unit: 1 } }, 'unknown option "ladder.unit"; the options are base, unitMs'],
    [{ orders: { windowMs: 1 } }, 'unknown option "orders.windowMs"; the options are paymentWindowMs, graceMs, '],
    [
      { orders: { merchants: { a: { grace: 1 } } } },
      'unknown option "orders.merchants.a.grace"; the options are paymentWindowMs, ',
    ],
    [
      { orders: { merchants: { a: { merchants: {} } } } },
      'unknown option "orders.merchants.a.merchants"; the options are paymentWindowMs, ',
    ],
    [
      { resilience: { bank: { rate: 1 } }, providers: [bank] },
      'unknown option "resilience.bank.rate"; the options are timeoutMs, maxWaitMs, concurrency, ',
    ],
    [
      { resilience: { bank: { timeoutMs: 0 } }, providers: [bank] },
      'resilience.bank.timeoutMs must be an integer from 1',
    ],
    [{ rateLimits: { perkey: 1 } }, 'unknown option "rateLimits.perkey"; the options are perKey, failuresPerAddress'],
  ])('is reported with its path: %j', (extra, start) => {
    const problems = ofModule(extra);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(start);
  });

  it('is ignored if it is undefined', () => {
    expect(ofModule({ apiKey: undefined, http: undefined })).toEqual([]);
  });

  it.each<[string, object]>([
    ['orders', { orders: Promise.resolve({ latePayment: 'keep' }) }],
    ['orders.merchants', { orders: { merchants: new Set(['a']) } }],
    ['orders.merchants', { orders: { merchants: Object.create({ a: {} }) as object } }],
    ['orders.merchants.a', { orders: { merchants: { a: Promise.resolve({}) } } }],
    ['orders.merchants.a', { orders: { merchants: { a: new Date() } } }],
    ['orders.merchants.a', { orders: { merchants: { a: null } } }],
    ['retention', { retention: new Map() }],
    ['resilience', { resilience: Promise.resolve({}) }],
    ['webhooks', { webhooks: Promise.resolve({ endpoints: [] }) }],
  ])('hides behind what has no options: %s', (name, extra) => {
    expect(ofModule(extra)).toEqual([`${name} must be an object`]);
  });

  it.each([class StripeProvider {}, Promise.resolve({}), 'stripe', {}, { name: 'a', query: () => 1 }])(
    'is not looked for in what is no provider: %p',
    (provider) => {
      const problem =
        'providers.0 must be a payment provider: an object with a name, and the methods query, close, and refund';
      expect(ofModule({ providers: [provider] })).toEqual([problem]);
    },
  );

  it.each(['http', 'isGlobal'])('is reported if useFactory returns %s, which must be given beside it', (name) => {
    expect(ofModule({ [name]: true })).toEqual([
      `"${name}" decides what the module consists of: put it next to useFactory, not into the options that useFactory returns`,
    ]);
  });

  it('is reported beside useFactory too, and an existing one must be returned by useFactory', () => {
    const beside = (extra: object): readonly string[] =>
      problemsOf(() => OrderTimeoutModule.forRootAsync({ useFactory: () => good, ...extra }));
    expect(beside({ htpp: true })).toEqual([
      'unknown option "htpp"; the options are http, isGlobal, contract, operator, path, imports, inject, useFactory, useClass, useExisting, ' +
        'provideInjectionTokensFrom',
    ]);
    expect(beside({ apiKeys: 'open' })).toEqual(['"apiKeys" must be returned by useFactory, not given beside it']);
    expect(beside({ http: true, isGlobal: false, imports: [], inject: [] })).toEqual([]);
  });

  it.each([undefined, null, 'options'])('is not searched for if useFactory returns %p', (returned) => {
    const sentence = [`the options must be an object (got ${String(returned)}); does useFactory return them?`];
    expect(problemsOf(() => resolveOrderTimeoutOptions(returned as never, {}))).toEqual(sentence);
    expect(problemsOf(() => resolveTimeoutsOptions(returned as never))).toEqual(sentence);
  });

  it('is not reported if all options exist', () => {
    expect(ofModule({ orders: { graceMs: 1, merchants: { a: { graceMs: 2 } } }, sweep: { marginMs: 1 } })).toEqual([]);
    expect(() => OrderTimeoutModule.forRoot({ ...good, http: true, apiKeys: 'open' })).not.toThrow();
    expect(() => TimeoutsModule.forRoot({ ...good, isGlobal: false })).not.toThrow();
  });
});
