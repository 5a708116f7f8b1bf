import { getMaxListeners } from 'node:events';
import { withTimeout } from '../../../src/clock';
import { ManualClock } from '../../support/manual-clock';

describe('withTimeout', () => {
  it('resolves to the result of the work, and leaves no timer', async () => {
    const clock = new ManualClock();
    await expect(withTimeout(clock, 100, Promise.resolve('work'), 'otherwise')).resolves.toBe('work');
    expect(clock.timersSet).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('resolves to the alternative after the time, however long the work takes', async () => {
    const clock = new ManualClock();
    const result = withTimeout(clock, 100, new Promise<string>(() => undefined), 'otherwise');
    clock.advance(99);
    const first = await Promise.race([result, new Promise((resolve) => setImmediate(() => resolve('still waiting')))]);
    expect(first).toBe('still waiting');
    clock.advance(1);
    await expect(result).resolves.toBe('otherwise');
  });

  it('rejects with the error of the work, and leaves no timer', async () => {
    const clock = new ManualClock();
    await expect(withTimeout(clock, 100, Promise.reject(new Error('no')), 'otherwise')).rejects.toThrow('no');
    expect(clock.pendingTimers).toBe(0);
  });

  it('lets many wait with one signal, without a warning of a leak', async () => {
    const [clock, controller] = [new ManualClock(), new AbortController()];
    const wait = () => withTimeout(clock, 100, new Promise<string>(() => undefined), 'otherwise', controller.signal);
    const waits = Array.from({ length: 16 }, wait);
    expect(getMaxListeners(controller.signal)).toBe(Infinity);
    controller.abort();
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['otherwise']));
  });
});
