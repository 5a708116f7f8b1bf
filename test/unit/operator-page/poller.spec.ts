import { backOff, Poller } from '../../../packages/operator-page/src/poll/poller';

describe('the poller of the operator page', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const timers = {
    set: (run: () => void, ms: number) => setTimeout(run, ms),
    clear: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
  };
  function start(load: (signal: AbortSignal) => Promise<void>): { poller: Poller; waits: number[] } {
    const waits: number[] = [];
    const poller = new Poller({ load, intervalMs: 2_000, timers, onError: (_error, ms) => waits.push(ms) });
    return { poller, waits };
  }

  it('loads again after the interval, and not before', async () => {
    const load = jest.fn(async () => {});
    const { poller } = start(load);
    await poller.refresh();
    await jest.advanceTimersByTimeAsync(1_999);
    expect(load).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(load).toHaveBeenCalledTimes(2);
    poller.stop();
  });

  it('waits twice as long after each failure, and the interval again after a success', async () => {
    let isDown = true;
    const load = jest.fn(async () => {
      if (isDown) throw new Error('away');
    });
    const { poller, waits } = start(load);
    await poller.refresh();
    await jest.advanceTimersByTimeAsync(4_000);
    await jest.advanceTimersByTimeAsync(8_000);
    expect(waits).toEqual([4_000, 8_000, 16_000]);
    isDown = false;
    await jest.advanceTimersByTimeAsync(16_000);
    load.mockClear();
    await jest.advanceTimersByTimeAsync(2_000);
    expect(load).toHaveBeenCalledTimes(1);
    isDown = true;
    await jest.advanceTimersByTimeAsync(2_000);
    expect(waits.at(-1)).toBe(4_000);
    poller.stop();
  });

  it('never waits longer than a minute', () => {
    expect(backOff(2_000, 40)).toBe(60_000);
  });

  it('rests while nobody looks, and loads at once when somebody does', async () => {
    const load = jest.fn(async () => {});
    const { poller } = start(load);
    await poller.refresh();
    poller.rest();
    await jest.advanceTimersByTimeAsync(600_000);
    expect(load).toHaveBeenCalledTimes(1);
    poller.wake();
    expect(load).toHaveBeenCalledTimes(2);
    poller.stop();
  });

  it('stays at rest if the load of before ends meanwhile', async () => {
    let finish = (): void => {};
    const load = jest.fn(() => new Promise<void>((resolve) => (finish = resolve)));
    const { poller } = start(load);
    const loading = poller.refresh();
    poller.rest();
    finish();
    await loading;
    await jest.advanceTimersByTimeAsync(600_000);
    expect(load).toHaveBeenCalledTimes(1);
    poller.stop();
  });

  it('drops the answer of a load that a newer one replaced', async () => {
    const signals: AbortSignal[] = [];
    const { poller } = start(async (signal) => void signals.push(signal));
    const first = poller.refresh();
    const second = poller.refresh();
    await Promise.all([first, second]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    poller.stop();
  });
});
