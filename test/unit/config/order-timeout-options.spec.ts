import { DataSource } from 'typeorm';
import { InvalidOptionsError } from '../../../src/errors';
import { type OrderTimeoutOptions, resolveOrderTimeoutOptions } from '../../../src/module/order-timeout-options';
import { type PaymentProvider } from '../../../src/payments';

const dataSource = new DataSource({ type: 'postgres' });
const provider = (name: string): PaymentProvider => ({
  name,
  query: async () => ({ type: 'OPEN' }),
  close: async () => ({ type: 'CLOSED' }),
  refund: async () => ({ type: 'PENDING' }),
});
const good: OrderTimeoutOptions = { dataSource, rabbit: { urls: ['amqp://mq'] } };

function problemsOf(options: OrderTimeoutOptions, http = false): string {
  try {
    resolveOrderTimeoutOptions(options, { http });
  } catch (error) {
    if (error instanceof InvalidOptionsError) return error.problems.join('; ');
    throw error;
  }
  return '';
}

describe('options of OrderTimeoutModule', () => {
  it('require only a DataSource and a broker', () => {
    expect(resolveOrderTimeoutOptions(good, {})).toMatchObject({ migrate: true, providers: [], orders: {} });
  });

  it('require names of providers that attempts can have', () => {
    expect(
      problemsOf({ ...good, providers: [provider('my bank'), provider('p'.repeat(65)), provider('a.b_c-D')] }),
    ).toMatch(
      /^no attempt can name a payment provider "my bank"; .*; no attempt can name a payment provider "p{65}"; [^;]*$/,
    );
  });

  it('refuse operator keys that nobody can use', () => {
    const key = `jane:${'0'.repeat(64)}:read`;
    expect(problemsOf({ ...good, operatorKeys: [key] })).toBe('operatorKeys need operator: true');
    expect(() => resolveOrderTimeoutOptions({ ...good, operatorKeys: ['jane'] }, { operator: true })).toThrow(
      'operator key 1 must have the SHA-256',
    );
    expect(resolveOrderTimeoutOptions({ ...good, operatorKeys: [key] }, { operator: true }).operatorKeys.isEmpty).toBe(
      false,
    );
  });

  it('are all validated, and one error lists all problems', () => {
    const problems = problemsOf(
      {
        dataSource,
        rabbit: { urls: [] },
        horizonMs: 5,
        orders: { graceMs: -1 },
        retention: { finishedOrdersMs: 5 },
        providers: [provider('a'), provider('a')],
        resilience: { a: { timeoutMs: 0 }, b: {} },
        apiKeys: ['x'],
      },
      true,
    );
    for (const part of [
      'rabbit.urls',
      'horizonMs',
      'orders.graceMs',
      'retention.finishedOrdersMs',
      '"a"',
      'timeoutMs',
      'resilience.b',
      'API key 1',
    ]) {
      expect(problems).toContain(part);
    }
  });

  it('require keys for the HTTP API, unless the host protects the routes itself', () => {
    expect(problemsOf(good, true)).toContain('apiKeys must name at least one key');
    expect(problemsOf({ ...good, apiKeys: 'open' }, true)).toBe('');
    expect(problemsOf(good, false)).toBe('');
  });
});
