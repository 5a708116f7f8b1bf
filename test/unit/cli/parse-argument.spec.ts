import { parseCount, parseDuration, parseInstant, parseTimeout } from '../../../src/cli/arguments-and-tables';

describe('arguments of the command line', () => {
  it.each([
    ['500ms', 500],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['-5m', -300_000],
  ])('read the duration %s', (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(['', '5', 'm', '1.5h', '5 m', '--5m', '5w'])('refuse the duration "%s"', (text) => {
    expect(() => parseDuration(text)).toThrow('It must be a number and a unit');
  });

  it('read an instant with its time zone', () => {
    expect(parseInstant('2026-03-01T12:00:00+01:00')).toEqual(new Date('2026-03-01T11:00:00Z'));
  });

  it.each(['2026-03-01', '2026-03-01T12:00:00', 'tomorrow', '2026-13-01T12:00:00Z'])(
    'refuse the instant "%s"',
    (text) => {
      expect(() => parseInstant(text)).toThrow('It must be an ISO 8601 instant');
    },
  );

  it('read a timeout whose key has slashes', () => {
    expect(parseTimeout('order.payment/shop/1')).toEqual({ kind: 'order.payment', key: 'shop/1' });
  });

  it.each(['order.payment', '/o-1', 'order.payment/'])('refuse the timeout "%s"', (text) => {
    expect(() => parseTimeout(text)).toThrow('It must be a kind and a key');
  });

  it.each(['0', '-1', '1.5', 'many'])('refuse the count "%s"', (text) => {
    expect(() => parseCount(text)).toThrow('It must be an integer');
  });
});
