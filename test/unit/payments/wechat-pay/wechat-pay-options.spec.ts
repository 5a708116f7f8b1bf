import { generateKeyPairSync } from 'node:crypto';
import { type InvalidOptionsError } from '../../../../src/errors';
import { WechatPayProvider, type WechatPayMerchant, type WechatPayOptions } from '../../../../src/payments/wechat-pay';
import { ManualClock } from '../manual-clock';
import { WechatPayBench } from './wechat-pay-bench';

describe('options of WeChat Pay', () => {
  const bench = new WechatPayBench();
  const certificate = bench.merchants['shop']?.platform[1];

  function problemsOf(options: WechatPayOptions): readonly string[] {
    try {
      new WechatPayProvider(options, new ManualClock());
      return [];
    } catch (error) {
      return (error as InvalidOptionsError).problems;
    }
  }
  const ofMerchant = (fields: Partial<WechatPayMerchant>): readonly string[] =>
    problemsOf({ merchants: { shop: { ...bench.shop, ...fields } } });

  it('are good as the merchant platform gives them', () => {
    expect(ofMerchant({})).toEqual([]);
    expect(new WechatPayProvider({ merchants: { shop: bench.shop } }, new ManualClock())).toMatchObject({
      name: 'wechat-pay',
      guardDefaults: { ratePerSecond: 100 },
    });
  });

  it('take a platform certificate under its serial, in either case', () => {
    const { serial = '', certificate: pem = '' } = certificate ?? {};
    expect(ofMerchant({ platformKeys: { [serial]: pem } })).toEqual([]);
    expect(ofMerchant({ platformKeys: { [serial.toLowerCase()]: pem } })).toEqual([]);
  });

  it.each<[string, () => Partial<WechatPayMerchant>, RegExp]>([
    ['a mchid that is no number', () => ({ mchid: 'shop' }), /merchants\.shop\.mchid: must be/],
    ['a serial that is none', () => ({ serialNo: 'serial' }), /serialNo: must be/],
    ['a short APIv3 key', () => ({ apiV3Key: 'short' }), /apiV3Key: must be 32 bytes/],
    ['a private key that is none', () => ({ privateKey: 'secret' }), /privateKey: must be an RSA private key/],
    ['a private key of another kind', () => ({ privateKey: ed25519() }), /privateKey: must be an RSA private key/],
    ['no platform key', () => ({ platformKeys: {} }), /platformKeys: give at least one/],
    [
      'a platform key that is none',
      () => ({ platformKeys: { PUB_KEY_ID_1: 'x' } }),
      /platformKeys\.PUB_KEY_ID_1: must be an RSA public key/,
    ],
    [
      'its own private key for WeChat Pay’s',
      () => ({ platformKeys: { PUB_KEY_ID_1: bench.shop.privateKey } }),
      /not a private key/,
    ],
    [
      'a certificate under another serial',
      () => ({ platformKeys: { ABCDEF0123: certificate?.certificate ?? '' } }),
      /under its own serial/,
    ],
    [
      'its own certificate for WeChat Pay’s',
      () => ({
        serialNo: certificate?.serial ?? '',
        platformKeys: { [certificate?.serial ?? '']: certificate?.certificate ?? '' },
      }),
      /merchant's own certificate/,
    ],
    ['something unknown', () => ({ secret: 'x' }) as Partial<WechatPayMerchant>, /[Uu]nrecognized key/],
  ])('are refused with %s', (_, fields, problem) => {
    expect(ofMerchant(fields())).toEqual([expect.stringMatching(problem)]);
  });

  it('are refused without a merchant and with a bad URL', () => {
    expect(problemsOf({ merchants: {} })).toEqual([expect.stringMatching(/merchants: give at least one/)]);
    expect(problemsOf({ merchants: { shop: bench.shop }, baseUrl: 'ftp://x' })).toHaveLength(1);
  });

  it('are refused with every problem at once and without a secret', () => {
    const bad = { mchid: '', apiV3Key: 'top-secret', privateKey: 'very-secret', platformKeys: { X: 'more-secret' } };
    const problems = ofMerchant(bad);
    expect(problems).toHaveLength(4);
    expect(problems.join()).not.toMatch(/secret/);
  });
});

function ed25519(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
