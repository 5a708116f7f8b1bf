import { createSecretKey, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { openSealed, sealedSchema } from '../../../../src/payments/wechat-pay/wechat-pay-options';
import { sealForShop } from '../../../../packages/payment-simulator/src/wechat-pay/seal-for-shop';

describe('openSealed', () => {
  const secret = randomBytes(16).toString('hex');
  const key = createSecretKey(Buffer.from(secret));
  const open = (sealed: object): string | undefined => openSealed(sealedSchema.parse(sealed), key);

  it('decrypts any text with the right key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(open(sealForShop(text, secret, 'transaction'))).toBe(text);
      }),
    );
  });

  it('returns undefined if any bit of the ciphertext or the tag was changed', () => {
    const sealed = sealForShop('{"trade_state":"SUCCESS"}', secret, 'transaction');
    const bytes = Buffer.from(sealed['ciphertext'] ?? '', 'base64');
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (index, change) => {
        const changed = Buffer.from(bytes);
        changed[index] = (changed[index] ?? 0) ^ change;
        expect(open({ ...sealed, ciphertext: changed.toString('base64') })).toBeUndefined();
      }),
    );
  });

  it.each([
    ['another nonce', { nonce: '0123456789ab' }],
    ['an impossible nonce', { nonce: 'x' }],
    ['other associated data', { associated_data: 'refund' }],
    ['no associated data', { associated_data: undefined }],
    ['no ciphertext', { ciphertext: '' }],
    ['a ciphertext shorter than a tag', { ciphertext: 'AAAA' }],
  ])('returns undefined with %s', (_, fields) => {
    expect(open({ ...sealForShop('text', secret, 'transaction'), ...fields })).toBeUndefined();
  });

  it('returns undefined with a tag of 4 bytes, which Node would accept', () => {
    const { ciphertext = '', ...rest } = sealForShop('', secret, 'transaction');
    const cut = Buffer.from(ciphertext, 'base64').subarray(0, 4).toString('base64');
    expect(open({ ...rest, ciphertext: cut })).toBeUndefined();
  });

  it('returns undefined with another key', () => {
    const other = randomBytes(16).toString('hex');
    expect(open(sealForShop('text', other, 'transaction'))).toBeUndefined();
  });
});
