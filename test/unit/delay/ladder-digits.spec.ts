import fc from 'fast-check';
import { countDigits, toDigits } from '../../../src/delay/ladder';

const base = fc.integer({ min: 2, max: 100 });
const value = fc.integer({ min: 0, max: 2 ** 40 });

const fromDigits = (digits: readonly number[], base: number): number =>
  digits.reduceRight((value, digit) => value * base + digit, 0);

describe('digits of a delay', () => {
  it('can be converted back to the value', () => {
    fc.assert(fc.property(base, value, (b, v) => fromDigits(toDigits(v, b, countDigits(v, b)), b) === v));
  });

  it('are all below the base, and have the requested count', () => {
    fc.assert(
      fc.property(base, value, fc.nat(3), (b, v, extra) => {
        const width = countDigits(v, b) + extra;
        const digits = toDigits(v, b, width);
        expect(digits).toHaveLength(width);
        expect(digits.every((digit) => Number.isInteger(digit) && digit >= 0 && digit < b)).toBe(true);
      }),
    );
  });

  it('start with a zero only if the value needs fewer', () => {
    fc.assert(fc.property(base, value, (b, v) => v === 0 || toDigits(v, b, countDigits(v, b)).at(-1) !== 0));
  });

  it('are written least significant first', () => {
    expect(toDigits(1800, 64, 3)).toEqual([8, 28, 0]);
    expect(countDigits(0, 64)).toBe(1);
    expect(countDigits(63, 64)).toBe(1);
    expect(countDigits(64, 64)).toBe(2);
  });
});
