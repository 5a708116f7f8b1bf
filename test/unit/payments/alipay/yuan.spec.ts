import fc from 'fast-check';
import { fromYuan, toYuan } from '../../../../src/payments/alipay/alipay-answer';

describe('an amount in yuan', () => {
  it('is parsed as it was formatted, to the fen and far above 2^53', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 17n - 1n }), (fen) => {
        expect(toYuan(fen)).toMatch(/^(0|[1-9]\d*)\.\d\d$/);
        expect(fromYuan(toYuan(fen))).toBe(fen);
      }),
    );
  });

  it('is the same without decimals', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }), fc.integer({ min: 0, max: 9 }), (whole, tenth) => {
        expect(fromYuan(`${whole}`)).toBe(whole * 100n);
        expect(fromYuan(`${whole}.${tenth}`)).toBe(whole * 100n + BigInt(tenth) * 10n);
      }),
    );
  });

  it('consists of plain digits only', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.,-+eE \n'), maxLength: 12 }), (text) => {
        if (!/^(0|[1-9]\d*)(\.\d\d?)?$/.test(text) || text.endsWith('\n')) expect(fromYuan(text)).toBeUndefined();
      }),
    );
  });

  it.each([undefined, '', '.5', '1.', '01.00', '1.234', '-1.00', '+1', '1e3', '１.00', '0x10', '1,000.00', '1.00\n'])(
    'is not %j',
    (text) => {
      expect(fromYuan(text)).toBeUndefined();
    },
  );
});
