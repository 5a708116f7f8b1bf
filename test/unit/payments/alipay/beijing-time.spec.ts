import fc from 'fast-check';
import { fromBeijingTime, toBeijingTime } from '../../../../src/payments/alipay/alipay-answer';

const SHANGHAI = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Asia/Shanghai',
  dateStyle: 'short',
  timeStyle: 'medium',
});
/** Summer time was given up in 1991. */
const instants = fc.date({ min: new Date('1992-01-01'), max: new Date('2100-01-01'), noInvalidDate: true });

describe('Beijing time', () => {
  it('is the time of Shanghai, in any time zone of the process', () => {
    fc.assert(
      fc.property(instants, (instant) => {
        expect(toBeijingTime(instant.getTime())).toBe(SHANGHAI.format(instant));
      }),
    );
  });

  it('parses what it formats, to the second', () => {
    fc.assert(
      fc.property(instants, (instant) => {
        const seconds = Math.floor(instant.getTime() / 1_000) * 1_000;
        expect(fromBeijingTime(toBeijingTime(instant.getTime()))?.getTime()).toBe(seconds);
      }),
    );
  });

  it.each([undefined, '', '2026-02-30 00:00:00', '2026-13-01 00:00:00', '2026-01-01T00:00:00', '2026-01-01 24:00:00'])(
    'is not %j',
    (text) => {
      expect(fromBeijingTime(text)).toBeUndefined();
    },
  );
});
