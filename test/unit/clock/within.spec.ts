import { withTimeout } from '../../../src/clock';
import { ManualClock } from '../delay/manual-clock';

describe('within', () => {
  it('gives what the work resolves to, and leaves no timer', async () => {
    const clock = new ManualClock();
    await expect(withTimeout(clock, 100, Promise.resolve('work'), 'otherwise')).resolves.toBe('work');
    expect(clock.timersSet).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives the alternative once the time is over, however long the work takes', async () => {
    const clock = new ManualClock();
    const result = withTimeout(clock, 100, new Promise<string>(() => undefined), 'otherwise');
    clock.advance(99);
    const first = await Promise.race([result, new Promise((resolve) => setImmediate(() => resolve('still waiting')))]);
    expect(first).toBe('still waiting');
    clock.advance(1);
    await expect(result).resolves.toBe('otherwise');
  });

  it('passes the failure of the work on, and leaves no timer', async () => {
    const clock = new ManualClock();
    await expect(withTimeout(clock, 100, Promise.reject(new Error('no')), 'otherwise')).rejects.toThrow('no');
    expect(clock.pendingTimers).toBe(0);
  });
});
