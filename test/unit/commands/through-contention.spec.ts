import { type Clock } from '../../../src/clock';
import { throughContention } from '../../../src/orders/commands/through-contention';

const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });

describe('a command that needs a row which somebody holds', () => {
  let nowMs = 0;
  const pauses: number[] = [];
  const clock = {
    monotonic: () => nowMs,
    sleep: async (ms: number) => {
      pauses.push(ms);
      nowMs += ms;
    },
  } as unknown as Clock;

  beforeEach(() => pauses.splice(0));

  it('is tried again, ever later, until it gets the row', async () => {
    let tries = 0;
    const work = async (): Promise<string> => {
      if (++tries < 7) throw locked;
      return 'done';
    };
    await expect(throughContention(clock, work)).resolves.toBe('done');
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 4_000, 4_000]);
  });

  it('goes back to the broker before the broker takes it back', async () => {
    const beganAt = nowMs;
    await expect(throughContention(clock, () => Promise.reject(locked))).rejects.toBe(locked);
    expect(nowMs - beganAt).toBeGreaterThan(14 * 60_000);
    expect(nowMs - beganAt).toBeLessThanOrEqual(15 * 60_000);
  });

  it('is not tried again for anything else', async () => {
    const fault = new Error('a bug');
    await expect(throughContention(clock, () => Promise.reject(fault))).rejects.toBe(fault);
    expect(pauses).toEqual([]);
  });
});
