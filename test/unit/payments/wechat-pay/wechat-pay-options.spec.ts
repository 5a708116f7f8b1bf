import { generateKeyPairSync } from 'node:crypto';
import { type InvalidOptionsError } from '../../../../src/errors';
import { WechatPayProvider, type WechatPayMerchant, type WechatPayOptions } from '../../../../src/payments/wechat-pay';
import { ManualClock } from '../../../support/manual-clock';
import { WechatPayBench } from './wechat-pay-bench';

describe('resolveWechatPayOptions', () => {
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

  it('accepts options as the merchant platform shows them', () => {
    expect(ofMerchant({})).toEqual([]);
    expect(new WechatPayProvider({ merchants: { shop: bench.shop } }, new ManualClock())).toMatchObject({
      name: 'wechat-pay',
      resilienceDefaults: { ratePerSecond: 100 },
    });
  });

  it('accepts a platform certificate under its serial, in lower or upper case', () => {
    const { serial = '', certificate: pem = '' } = certificate ?? {};
    expect(ofMerchant({ platformKeys: { [serial]: pem } })).toEqual([]);
    expect(ofMerchant({ platformKeys: { [serial.toLowerCase()]: pem } })).toEqual([]);
  });

  it.each<[string, () => Partial<WechatPayMerchant>, RegExp]>([
    ['a mchid that is not a number', () => ({ mchid: 'shop' }), /merchants\.shop\.mchid: must be/],
    ['an invalid serial', () => ({ serialNo: 'serial' }), /serialNo: must be/],
    ['a short APIv3 key', () => ({ apiV3Key: 'short' }), /apiV3Key: must be 32 bytes/],
    ['an invalid private key', () => ({ privateKey: 'secret' }), /privateKey: must be an RSA private key/],
    ['a private key of another type', () => ({ privateKey: ed25519() }), /privateKey: must be an RSA private key/],
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
      /use that serial as its name/,
    ],
    [
      'its own certificate for WeChat Pay’s',
      () => ({
        serialNo: certificate?.serial ?? '',
        platformKeys: { [certificate?.serial ?? '']: certificate?.certificate ?? '' },
      }),
      /merchant's own certificate/,
    ],
    ['an unknown field', () => ({ secret: 'x' }) as Partial<WechatPayMerchant>, /[Uu]nrecognized key/],
  ])('rejects %s', (_, fields, problem) => {
    expect(ofMerchant(fields())).toEqual([expect.stringMatching(problem)]);
  });

  it('rejects missing merchants and an invalid URL', () => {
    expect(problemsOf({ merchants: {} })).toEqual([expect.stringMatching(/merchants: name at least one/)]);
    expect(problemsOf({ merchants: { shop: bench.shop }, baseUrl: 'ftp://x' })).toHaveLength(1);
  });

  it('reports all problems at once and no secret', () => {
    const bad = { mchid: '', apiV3Key: 'top-secret', privateKey: 'very-secret', platformKeys: { X: 'more-secret' } };
    const problems = ofMerchant(bad);
    expect(problems).toHaveLength(4);
    expect(problems.join()).not.toMatch(/secret/);
  });
});

function ed25519(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
