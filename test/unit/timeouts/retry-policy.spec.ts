import fc from 'fast-check';
import { backoffMs } from '../../../src/timeouts/model/timeout';

const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the back-off', () => {
  it.each([
    [1, 2_000],
    [2, 5_000],
    [3, 15_000],
    [4, 60_000],
    [5, 300_000],
    [6, 300_000],
    [1_000, 300_000],
  ])('after failure %i is %i ms in the middle', (failures, ms) => {
    expect(backoffMs(failures, 0.5)).toBe(ms);
  });

  it('is at most a fifth off, in whole milliseconds, and uses the room', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), randoms, (failures, random) => {
        const middle = backoffMs(failures, 0.5);
        const ms = backoffMs(failures, random);
        expect(Number.isInteger(ms)).toBe(true);
        expect(ms).toBeGreaterThanOrEqual(0.8 * middle);
        expect(ms).toBeLessThanOrEqual(1.2 * middle);
      }),
    );
    expect([backoffMs(2, 0), backoffMs(2, 1 - Number.EPSILON)]).toEqual([4_000, 6_000]);
  });

  it('never shrinks with more failures, not even by the jitter', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), randoms, randoms, (failures, random, other) => {
        expect(backoffMs(failures + 1, other)).toBeGreaterThan(backoffMs(failures, random));
      }),
    );
  });

  it('takes nonsense counts for the first failure', () => {
    expect([-3, 0, 1.9].map((failures) => backoffMs(failures, 0.5))).toEqual([2_000, 2_000, 2_000]);
  });
});
