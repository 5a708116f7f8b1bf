import { Logger } from '@nestjs/common';
import { PollingLoop } from '../../../src/clock';
import { ManualClock } from '../../support/manual-clock';

const INTERVAL_MS = 500;

/** Lets every promise settle that can. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

function setup(runOnce: (run: number, loop: PollingLoop) => boolean | Promise<boolean> = () => false) {
  const clock = new ManualClock();
  const state = { runs: 0 };
  const loop: PollingLoop = new PollingLoop(clock, {
    name: 'test',
    runOnce: async () => runOnce(++state.runs, loop),
    intervalMs: () => INTERVAL_MS,
  });
  return { clock, loop, state };
}

describe('PollingLoop', () => {
  it('runs at the start, and then once per interval while there is no work', async () => {
    const { clock, loop, state } = setup();
    loop.start();
    await settled();
    expect(state.runs).toBe(1);
    clock.advance(INTERVAL_MS - 1);
    await settled();
    expect(state.runs).toBe(1);
    clock.advance(1);
    await settled();
    expect(state.runs).toBe(2);
    await loop.stop();
  });

  it('runs again immediately while there is more work', async () => {
    const { clock, loop, state } = setup((run) => run < 7);
    loop.start();
    await settled();
    expect(state.runs).toBe(7);
    expect(clock.timersSet).toBe(1);
    await loop.stop();
  });

  it('abandons a run that does not end, logs it once with a code, and continues', async () => {
    const clock = new ManualClock();
    const told: unknown[] = [];
    const signals: AbortSignal[] = [];
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation((message) => told.push(message));
    const loop = new PollingLoop(clock, {
      name: 'test',
      runOnce: (signal) => (
        signals.push(signal),
        signals.length < 3 ? new Promise(() => undefined) : Promise.resolve(false)
      ),
      intervalMs: () => INTERVAL_MS,
      limitMs: 2_000,
    });
    loop.start();
    for (let second = 0; second < 6; second += 1) {
      clock.advance(1_000);
      await settled();
    }
    error.mockRestore();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
    expect(told).toEqual([expect.stringContaining('ORDER_TIMEOUT/LOOP_STUCK: a run of the loop test')]);
    await loop.stop();
  });

  it('waits for more work before a run, and that run finds the work of wake calls in between', async () => {
    const clock = new ManualClock();
    let runs = 0;
    const loop = new PollingLoop(clock, {
      name: 'test',
      runOnce: async () => ++runs === 1,
      intervalMs: () => INTERVAL_MS,
      gatherMs: 10,
    });
    loop.start();
    clock.advance(9);
    await settled();
    expect(runs).toBe(0);
    loop.wake();
    clock.advance(1);
    await settled();
    // The second run was immediate, because there was more work. The wake call caused none.
    expect(runs).toBe(2);
    clock.advance(10);
    await settled();
    expect(runs).toBe(2);
    await loop.stop();
  });

  it('reads the interval before each sleep', async () => {
    const clock = new ManualClock();
    const intervals = [10, 1_000];
    let runs = 0;
    const loop = new PollingLoop(clock, {
      name: 'test',
      runOnce: async () => ++runs < 0,
      intervalMs: () => intervals.shift() ?? 1,
    });
    loop.start();
    await settled();
    clock.advance(10);
    await settled();
    clock.advance(999);
    await settled();
    expect(runs).toBe(2);
    await loop.stop();
  });

  it('can be woken from its sleep', async () => {
    const { loop, state } = setup();
    loop.start();
    await settled();
    loop.wake();
    await settled();
    expect(state.runs).toBe(2);
    await loop.stop();
  });

  it('keeps a wake call that comes during a run, and merges several into one', async () => {
    const { clock, loop, state } = setup((run, self) => {
      if (run === 1) for (let times = 0; times < 3; times++) self.wake();
      return false;
    });
    loop.start();
    await settled();
    expect(state.runs).toBe(2);
    expect(clock.pendingTimers).toBe(1);
    await loop.stop();
  });

  it('starts only once', async () => {
    const { clock, loop, state } = setup();
    loop.start();
    loop.start();
    await settled();
    expect(state.runs).toBe(1);
    expect(clock.pendingTimers).toBe(1);
    await loop.stop();
  });

  it('stops during its sleep without leaving a timer', async () => {
    const { clock, loop, state } = setup();
    loop.start();
    await settled();
    await loop.stop();
    clock.advance(10 * INTERVAL_MS);
    await settled();
    expect(state.runs).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('aborts the signal of the current run, and resolves stop() after that run', async () => {
    const clock = new ManualClock();
    let finish: () => void = () => undefined;
    let signalled: AbortSignal | undefined;
    const loop = new PollingLoop(clock, {
      name: 'test',
      runOnce: (signal) => {
        signalled = signal;
        return new Promise((resolve) => (finish = () => resolve(true)));
      },
      intervalMs: () => INTERVAL_MS,
    });
    let isStopped = false;
    loop.start();
    const stopping = loop.stop().then(() => (isStopped = true));
    await settled();
    expect(signalled?.aborted).toBe(true);
    expect(isStopped).toBe(false);
    finish();
    await stopping;
  });

  it('never runs twice at the same time or after a stop, whenever it is started, woken, and stopped', async () => {
    for (let round = 0; round < 50; round++) {
      const states = await Promise.all(Array.from({ length: 10 }, (_, index) => startAndStop(round + index)));
      expect(states).toEqual(states.map(() => ({ active: 0, overlaps: 0, afterStop: 0, pendingTimers: 0 })));
    }
  });

  describe('after a failure', () => {
    let errors: jest.SpyInstance;
    beforeEach(() => (errors = jest.spyOn(Logger.prototype, 'error').mockImplementation()));
    afterEach(() => errors.mockRestore());

    it('pauses for a second and continues', async () => {
      const { clock, loop, state } = setup((run) => {
        if (run === 1) throw new Error('the database is unavailable');
        return false;
      });
      loop.start();
      await settled();
      clock.advance(999);
      await settled();
      expect(state.runs).toBe(1);
      clock.advance(1);
      await settled();
      expect(state.runs).toBe(2);
      await loop.stop();
    });

    it('keeps its pause when woken, because every commit of a busy host wakes it', async () => {
      const { clock, loop, state } = setup((run) => {
        if (run > 1) return false;
        loop.wake();
        throw new Error('permission denied');
      });
      loop.start();
      await settled();
      loop.wake();
      await settled();
      expect(state.runs).toBe(1);
      clock.advance(1_000);
      await settled();
      expect(state.runs).toBe(2);
      await loop.stop();
    });

    it('logs the same failure once, and once more after a success if a minute has passed', async () => {
      const { clock, loop } = setup((run) => {
        if (run !== 4 && run !== 70) throw new Error('the database is unavailable');
        return false;
      });
      const pass = async (seconds: number) => {
        for (let second = 0; second < seconds; second++) {
          await settled();
          clock.advance(1_000);
        }
        await settled();
      };
      loop.start();
      await pass(59);
      expect(errors.mock.calls).toEqual([['failed, retrying: the database is unavailable']]);
      await pass(2);
      expect(errors).toHaveBeenCalledTimes(2);
      await pass(50);
      expect(errors).toHaveBeenCalledTimes(2);
      await pass(10);
      expect(errors).toHaveBeenCalledTimes(3);
      await loop.stop();
    });

    it('logs one line a minute while every second run fails', async () => {
      const { clock, loop } = setup((run) => {
        if (run % 2 === 0) throw new Error('lock timeout');
        return true;
      });
      loop.start();
      for (let second = 0; second < 150; second++) {
        await settled();
        clock.advance(1_000);
      }
      expect(errors).toHaveBeenCalledTimes(3);
      await loop.stop();
    });

    it('logs failures that take turns once each, and those of one code once', async () => {
      const failures = [new Error('it only reads'), new Error('it is gone')].map((error, code) =>
        Object.assign(error, { code: `0800${code}` }),
      );
      const { clock, loop } = setup((run) => {
        throw (run < 7 && failures[run % 2]) || Object.assign(new Error(`gone for ${run} s`), { code: '08000' });
      });
      loop.start();
      for (let second = 0; second < 10; second++) {
        await settled();
        clock.advance(1_000);
      }
      expect(errors.mock.calls).toEqual([['failed, retrying: it is gone'], ['failed, retrying: it only reads']]);
      await loop.stop();
    });
  });
});

async function startAndStop(seed: number) {
  const clock = new ManualClock();
  const state = { active: 0, overlaps: 0, afterStop: 0 };
  let isStopped = false;
  const loop = new PollingLoop(clock, {
    name: 'test',
    runOnce: async () => {
      if (isStopped) state.afterStop++;
      if (++state.active > 1) state.overlaps++;
      for (let turns = seed % 7; turns > 0; turns--) await Promise.resolve();
      state.active--;
      return seed % 3 === 0;
    },
    intervalMs: () => seed % 11,
  });
  loop.start();
  for (let turns = seed % 13; turns > 0; turns--) {
    await Promise.resolve();
    if (turns % 2 === 0) loop.wake();
    if (turns % 5 === 0) clock.advance(1);
  }
  await loop.stop();
  isStopped = true;
  loop.wake();
  loop.start();
  clock.advance(1_000);
  await settled();
  return { ...state, pendingTimers: clock.pendingTimers };
}
