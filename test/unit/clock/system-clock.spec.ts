import { SystemClock } from '../../../src/clock';

describe('SystemClock', () => {
  const clock = new SystemClock();
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('runs a task once after the given time', () => {
    const task = jest.fn();
    clock.after(100, task);
    jest.advanceTimersByTime(99);
    expect(task).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1_000);
    expect(task).toHaveBeenCalledTimes(1);
  });

  it('does not run a canceled task, and leaves no timer', () => {
    const task = jest.fn();
    clock.after(100, task).cancel();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(1_000);
    expect(task).not.toHaveBeenCalled();
  });

  it.each([2 ** 31, 10 * 366 * 86_400_000, Infinity])('does not fire immediately for a delay of %s ms', (ms) => {
    const task = jest.fn();
    const timer = clock.after(ms, task);
    jest.advanceTimersByTime(24 * 86_400_000);
    expect(task).not.toHaveBeenCalled();
    timer.cancel();
  });

  it('treats a negative delay as zero', () => {
    const task = jest.fn();
    clock.after(-5, task);
    jest.advanceTimersByTime(0);
    expect(task).toHaveBeenCalledTimes(1);
  });

  it('sleeps for the given time', async () => {
    const awake = jest.fn();
    void clock.sleep(100).then(awake);
    await jest.advanceTimersByTimeAsync(99);
    expect(awake).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(awake).toHaveBeenCalledTimes(1);
  });

  it('wakes immediately when its signal aborts, and leaves no timer', async () => {
    const controller = new AbortController();
    const sleep = clock.sleep(60_000, controller.signal);
    controller.abort();
    await sleep;
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not sleep if the signal has been aborted', async () => {
    await clock.sleep(60_000, AbortSignal.abort());
    expect(jest.getTimerCount()).toBe(0);
  });

  it('removes its listener from a signal that outlives the sleep', async () => {
    const { signal } = new AbortController();
    const added = jest.spyOn(signal, 'addEventListener');
    const removed = jest.spyOn(signal, 'removeEventListener');
    const sleep = clock.sleep(10, signal);
    await jest.advanceTimersByTimeAsync(10);
    await sleep;
    expect(added.mock.calls).toHaveLength(1);
    expect(removed).toHaveBeenCalledWith('abort', added.mock.calls[0]?.[1]);
  });

  it('lets any number of sleeps share a signal without a leak warning of Node', async () => {
    jest.useRealTimers();
    const warned = jest.fn();
    process.on('warning', warned);
    const controller = new AbortController();
    const sleeps = Array.from({ length: 20 }, () => clock.sleep(60_000, controller.signal));
    controller.abort();
    await Promise.all(sleeps);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });
});
