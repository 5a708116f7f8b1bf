import { generateKeyPairSync } from 'node:crypto';
import { SystemClock } from '../../../../src/clock';
import { AlipayProvider, type AlipayMerchant, type AlipayOptions } from '../../../../src/payments/alipay';
import { merchant, publicKey } from './fake-gateway';

const small = generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey;
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2_048 }).privateKey;
const { privateKey, publicKey: alipayKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });

function create(fields: Partial<AlipayMerchant>, options: Partial<AlipayOptions> = {}): AlipayProvider {
  return new AlipayProvider({ merchants: { shop: { ...merchant, ...fields } }, ...options }, new SystemClock());
}

function bare(pem: string | Buffer): string {
  return pem.toString().replace(/-----.*-----|\n/g, '');
}

describe('resolveAlipayOptions', () => {
  it('requires only one merchant', () => {
    expect(create({})).toMatchObject({ name: 'alipay', resilienceDefaults: { ratePerSecond: 50 } });
  });

  it.each([
    ['PKCS#8 PEM', privateKey.export({ format: 'pem', type: 'pkcs8' })],
    ['PKCS#1 PEM', privateKey.export({ format: 'pem', type: 'pkcs1' })],
    ['PKCS#8 as the key tool writes it', bare(privateKey.export({ format: 'pem', type: 'pkcs8' }))],
    ['PKCS#1 as the key tool writes it', bare(privateKey.export({ format: 'pem', type: 'pkcs1' }))],
  ])('accepts a private key in %s', (_, key) => {
    expect(() => create({ privateKey: key.toString() })).not.toThrow();
  });

  it('accepts a public key as the console shows it', () => {
    expect(() => create({ alipayPublicKey: bare(alipayKey.export({ format: 'pem', type: 'spki' })) })).not.toThrow();
  });

  it.each<[string, Partial<AlipayMerchant>, RegExp]>([
    ['no key', { privateKey: 'secret-but-no-key' }, /merchants\.shop\.privateKey: must be an RSA private key/],
    ['a short key', { privateKey: small.export({ format: 'pem', type: 'pkcs8' }).toString() }, /2048 bits/],
    ['a key for PSS', { privateKey: pss.export({ format: 'pem', type: 'pkcs8' }).toString() }, /RSA private key/],
    [
      'an elliptic curve key',
      { privateKey: curve.export({ format: 'pem', type: 'pkcs8' }).toString() },
      /RSA private key/,
    ],
    [
      'a private key for the public one',
      { alipayPublicKey: merchant.privateKey },
      /alipayPublicKey: must be an RSA pub/,
    ],
    ["the app's own public key", { alipayPublicKey: publicKey }, /alipayPublicKey: is the app's own public key/],
    ['an app id that is not a number', { appId: 'shop' }, /merchants\.shop\.appId/],
    ['a short seller id', { sellerId: '2088' }, /merchants\.shop\.sellerId/],
  ])('rejects %s, without showing a key', (_, fields, message) => {
    expect(() => create(fields)).toThrow(message);
    const secrets = Object.values(fields).filter((value) => value.length > 8);
    for (const secret of secrets) expect(() => create(fields)).not.toThrow(secret);
  });

  it('reports all problems at once', () => {
    const problems = { appId: '', sellerId: '', privateKey: '', alipayPublicKey: '' };
    expect(() => create(problems, { gateway: 'ftp://x', timeoutMs: 9_000 })).toThrow(/: 6 problems: /);
  });

  it('rejects two merchants with the same app', () => {
    const merchants = { one: merchant, two: merchant };
    expect(() => new AlipayProvider({ merchants }, new SystemClock())).toThrow(
      'two.appId: is also used by merchant "one"',
    );
  });

  it('requires a merchant', () => {
    expect(() => new AlipayProvider({ merchants: {} }, new SystemClock())).toThrow('merchants: name at least one');
  });
});
