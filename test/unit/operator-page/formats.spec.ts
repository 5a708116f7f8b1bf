import { formatCount, MINUTE_CAP } from '../../../packages/operator-page/src/format/format-count';
import { formatMoney } from '../../../packages/operator-page/src/format/format-money';
import {
  formatCountdown,
  formatDuration,
  formatInstant,
  formatRelative,
} from '../../../packages/operator-page/src/format/format-time';
import { parseExtension } from '../../../packages/operator-page/src/format/parse-extension';

describe('the operator page writes', () => {
  it.each([
    [4_200, 'EUR', 'en-US', '€42.00'],
    [5, 'EUR', 'en-US', '€0.05'],
    [-4_205, 'EUR', 'en-US', '-€42.05'],
    [500, 'JPY', 'en-US', '¥500'],
    [12_345, 'KWD', 'en-US', 'KWD 12.345'],
    [1_290, 'CNY', 'zh-CN', '¥12.90'],
    [1_290, 'CNY', 'en-US', 'CN¥12.90'],
    [9_007_199_254_740_991, 'EUR', 'en-US', '€90,071,992,547,409.91'],
  ])('%d minor units of %s in %s as %s', (amount, currency, locale, text) => {
    expect(formatMoney(amount, currency, locale).replace(/\u00a0/g, ' ')).toBe(text);
  });

  it('the plain amount of a currency that nobody knows', () => {
    expect(formatMoney(4_200, 'not a code', 'en-US')).toBe('4200 not a code');
  });

  it('an instant with 24 hours, as everywhere on the page', () => {
    expect(formatInstant(new Date(2030, 2, 1, 13, 5).getTime(), 'en-US')).toBe('Mar 1, 2030, 13:05:00');
  });

  it.each([
    [59_001, '01:00'],
    [754_000, '12:34'],
    [3_600_000, '1:00:00'],
    [90_061_000, '1 d 01:01:01'],
    [-1, '00:00'],
  ])('%d ms to a deadline as %s', (ms, text) => {
    expect(formatCountdown(ms)).toBe(text);
  });

  it.each([
    [34, '34 ms'],
    [3_120, '3.1 sec'],
    [95_000, '2 min'],
    [5_400_000, '1.5 hr'],
  ])('a time of %d ms as %s', (ms, text) => {
    expect(formatDuration(ms, 'en-US')).toBe(text);
  });

  it.each([
    [60_000, 'en-US', 'in 1 min.'],
    [-59_000, 'en-US', '59 sec. ago'],
    [-119_000, 'en-US', '1 min. ago'],
    [-86_400_000, 'en-US', 'yesterday'],
    [7_200_000, 'zh-CN', '2小时后'],
  ])('%d ms from now in %s as %s', (offset, locale, text) => {
    expect(formatRelative(offset, 0, locale)).toBe(text);
  });

  it('a count that stopped at its limit with a plus', () => {
    expect([formatCount(10_000, 'en-US'), formatCount(10_001, 'en-US')]).toEqual(['10,000', '10,000+']);
    expect(formatCount(MINUTE_CAP, 'en-US', MINUTE_CAP)).toBe('2,000+');
  });
});

describe('the operator page reads an extension of', () => {
  it.each([
    ['30', 1_800_000],
    [' 2h ', 7_200_000],
    ['1.5 h', 5_400_000],
    ['-15m', -900_000],
    ['90s', 90_000],
    ['1d', 86_400_000],
  ])('%p as %d ms', (text, ms) => {
    expect(parseExtension(text)).toBe(ms);
  });

  it.each(['', '0', 'soon', '1 week', '1e3', '30 30'])('%p as nothing', (text) => {
    expect(parseExtension(text)).toBeUndefined();
  });
});
