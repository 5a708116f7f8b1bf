import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SystemClock } from '../../../src/clock';
import { InvalidOptionsError } from '../../../src/errors';
import { loadPaymentProviders } from '../../../src/service/load-payment-providers';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const alipayPublicKey = other.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const merchant = { appId: '2021000000000000', sellerId: '2088000000000000', privateKey, alipayPublicKey };
const http = { type: 'http', name: 'own', baseUrl: 'http://127.0.0.1:1', secret: 'sixteen-characters' };

describe('the providers file', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ot-providers-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function load(content: unknown) {
    const path = join(folder, 'providers.json');
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    return loadPaymentProviders(path, new SystemClock());
  }

  function problemsOf(content: unknown): string {
    try {
      load(content);
    } catch (error) {
      if (error instanceof InvalidOptionsError) return error.message;
      throw error;
    }
    throw new Error('the file was taken');
  }

  it('creates every provider, by its type, with its resilience', () => {
    const { providers, resilience } = load([
      { type: 'alipay', merchants: { default: merchant }, resilience: { ratePerSecond: 30 } },
      http,
      { ...http, name: 'second' },
    ]);
    expect(providers.map(({ name }) => name)).toEqual(['alipay', 'own', 'second']);
    expect(resilience).toEqual({ alipay: { ratePerSecond: 30 } });
  });

  it('keeps the resilience of a provider with any name except __proto__, which it rejects', () => {
    const { providers, resilience } = load([{ ...http, name: '__proto__', resilience: { ratePerSecond: 30 } }]);
    expect(providers.map(({ name }) => name)).toEqual(['__proto__']);
    expect(Object.entries(resilience)).toEqual([['__proto__', { ratePerSecond: 30 }]]);
    const merchants = '[{"type":"alipay","merchants":{"__proto__":{}}}]';
    expect(problemsOf(merchants)).toContain('must not use "__proto__" as a name');
  });

  it('reads keys from files beside it', () => {
    writeFileSync(join(folder, 'app.pem'), privateKey);
    const merchants = { default: { ...merchant, privateKey: 'file:app.pem' } };
    expect(load([{ type: 'alipay', merchants }]).providers).toHaveLength(1);
    const missing = { default: { ...merchant, privateKey: 'file:nowhere.pem' } };
    expect(problemsOf([{ type: 'alipay', merchants: missing }])).toMatch(
      /provider 1 \(alipay\): .*ENOENT.*nowhere\.pem/,
    );
  });

  it('reports all problems of all providers, and no key', () => {
    const message = problemsOf([
      { type: 'alipay', merchants: { default: { ...merchant, privateKey: 'not-a-key', sellerId: 'x' } } },
      { type: 'http', name: 'own', baseUrl: 'ftp://x', secret: 'short' },
    ]);
    for (const part of ['provider 1 (alipay)', 'privateKey', 'sellerId', 'provider 2 (http)', 'baseUrl', 'secret']) {
      expect(message).toContain(part);
    }
    expect(message).not.toMatch(/not-a-key|short/);
  });

  it.each([
    ['{"type":"alipay"}', 'must be a JSON array'],
    ['[{"type":"paypal"}]', '0.type must be one of alipay, wechat-pay, stripe, http'],
    ['[secret-key', 'it is not valid JSON'],
  ])('must not be %s', (content, problem) => {
    const message = problemsOf(content);
    expect(message).toContain(problem);
    expect(message).not.toContain('secret-key');
  });

  it('must exist', () => {
    expect(() => loadPaymentProviders(join(folder, 'none.json'), new SystemClock())).toThrow(/ENOENT/);
  });
});
