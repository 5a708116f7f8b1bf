import { Logger } from '@nestjs/common';
import { dataSourceStub } from '../../support/data-source-stub';
import { type ScanRange } from '../../../src/database';
import { Sweep } from '../../../src/timeouts/engine/sweep';
import { OverdueWakeUps } from '../../../src/timeouts/engine/timeout-processor';
import { type WorkItem } from '../../../src/timeouts/model/timeout';
import { ManualClock } from '../../support/manual-clock';

const INTERVAL_MS = 30_000;
const SECOND = 1_000;

const REST = {} as ScanRange;

/** Lets every promise that can settle do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

interface Upcoming {
  readonly key: string;
  readonly generation: string;
  readonly due_ms: number;
}

type Page = 'last' | 'more' | 'slow';

/** @param upcoming what becomes due soon. @param pages of the first pages, whether others follow, and take the whole budget. */
function setup({ concurrency = 1, upcoming = [] as readonly Upcoming[], pages = [] as Page[] } = {}) {
  const clock = new ManualClock();
  const state = { isClock: false, isPaused: false, isSaturated: false, overdue: 0, isBacklog: false };
  const held: WorkItem[] = [];
  const sweptAt: number[] = [];
  const missed: number[] = [];
  const overdue = new OverdueWakeUps();
  const sweep = new Sweep(
    {
      processor: {
        kind: 'test',
        overdue,
        isIdle: true,
        get isSaturated() {
          return state.isSaturated;
        },
        add: (item) => void held.push(item),
        sweepPage: async () => {
          sweptAt.push(clock.monotonic() - beganAt);
          const rows = state.overdue;
          state.overdue = 0;
          overdue.found(
            Array.from({ length: rows }, (_, key) => ({ key: String(key), generation: '1', leased: false })),
          );
          const page = pages.shift() ?? (state.isBacklog ? 'slow' : 'last');
          // The page takes longer than the budget, so the rest is left to the next run.
          if (page === 'slow') clock.jump(6_000);
          return { rows, next: page === 'last' ? undefined : REST };
        },
      },
      dataSource: dataSourceStub({}, async () => upcoming),
      ...{ upcomingSql: '', concurrency },
      options: { intervalMs: INTERVAL_MS, marginMs: 5_000, budgetMs: 5_000 },
      isClock: () => state.isClock,
      isPaused: () => state.isPaused,
      missed: (count) => void missed.push(Number(count())),
    },
    clock,
  );
  const beganAt = clock.monotonic();
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(SECOND);
      await settled();
    }
  };
  return { sweep, state, sweptAt, missed, overdue, held, pass };
}

describe('the sweep', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('comes at the start and then once per interval while the messages bring everything', async () => {
    const { sweep, sweptAt, pass } = setup();
    sweep.start();
    await settled();
    await pass(65);
    expect(sweptAt).toEqual([0, 30_000, 60_000]);
    await sweep.stop();
  });

  it('comes every 5 s for 3 minutes once something was left to it, as more may be', async () => {
    const { sweep, state, sweptAt, pass } = setup();
    sweep.start();
    await settled();
    state.overdue = 3;
    await pass(260);
    const wary = Array.from({ length: 35 }, (_, index) => 35_000 + index * 5_000);
    expect(sweptAt).toEqual([0, 30_000, ...wary, 235_000]);
    await sweep.stop();
  });

  it('is wary too after the transport was unavailable, and does not wait for the end of the interval', async () => {
    const { sweep, state, sweptAt, pass } = setup();
    sweep.start();
    await settled();
    state.isClock = true;
    await pass(2);
    state.isClock = false;
    await pass(10);
    expect(sweptAt).toEqual([0, 1_000, 2_000, 7_000, 12_000]);
    await sweep.stop();
  });

  it('is the clock while the transport is unavailable: it holds what becomes due soon, each once', async () => {
    const upcoming = [{ key: 'a', generation: '1', due_ms: 500 }];
    const { sweep, state, held, pass } = setup({ upcoming });
    sweep.start();
    await settled();
    await pass(3);
    expect(held).toEqual([]);
    state.isClock = true;
    await pass(2);
    const wakeUp = { key: 'a', generation: '1', dueAtMs: 500, cause: 'sweep' };
    expect(held.map((item) => item.wakeUp)).toEqual([wakeUp]);
    held[0]?.finish('finished');
    await pass(1);
    expect(held).toHaveLength(2);
    await sweep.stop();
  });

  it('has more as long as one of its lanes has', async () => {
    const { sweep, state } = setup({ concurrency: 2, pages: ['more', 'last', 'slow'] });
    state.overdue = 3;
    expect(await sweep.runOnce(0)).toEqual({ rows: 3, hasMore: true });
    expect(await sweep.runOnce(0)).toEqual({ rows: 0, hasMore: false });
  });

  it('reads one page alone, because mostly there are no others', async () => {
    const { sweep, state, sweptAt } = setup({ concurrency: 3 });
    state.overdue = 3;
    expect(await sweep.runOnce(0)).toEqual({ rows: 3, hasMore: false });
    expect(sweptAt).toHaveLength(1);
  });

  it('reads empty pages alone, such as that of the past before that of what has become due since', async () => {
    const { sweep, sweptAt } = setup({ concurrency: 3, pages: ['more', 'last'] });
    expect(await sweep.runOnce(0)).toEqual({ rows: 0, hasMore: false });
    expect(sweptAt).toHaveLength(2);
  });

  it('takes no page while there is more work than this process can do', async () => {
    const { sweep, state, sweptAt, pass } = setup();
    state.isSaturated = true;
    sweep.start();
    await settled();
    await pass(3);
    expect([sweptAt, sweep.hasCaughtUp]).toEqual([[], false]);
    state.isSaturated = false;
    await pass(1);
    expect([sweptAt, sweep.hasCaughtUp]).toEqual([[4_000], true]);
    await sweep.stop();
  });

  it('does not come while the kind is paused, and comes at once and without a margin afterward', async () => {
    const { sweep, state, sweptAt, missed, pass } = setup();
    state.isPaused = true;
    sweep.start();
    await settled();
    await pass(100);
    expect([sweptAt, sweep.hasCaughtUp]).toEqual([[], true]);
    state.isPaused = false;
    state.overdue = 7;
    await pass(1);
    expect([sweptAt, missed, sweep.hasCaughtUp]).toEqual([[101_000], [], true]);
    state.overdue = 2;
    await pass(10);
    expect(missed).toEqual([2]);
    await sweep.stop();
  });

  it('counts as missed nothing of what a pause left, however many runs that takes', async () => {
    const { sweep, state, missed, pass } = setup();
    sweep.start();
    await settled();
    state.isPaused = true;
    await pass(40);
    Object.assign(state, { isPaused: false, overdue: 7, isBacklog: true });
    await pass(1);
    Object.assign(state, { overdue: 3, isBacklog: false });
    await pass(1);
    expect(missed).toEqual([]);
    state.overdue = 2;
    await pass(31);
    expect(missed).toEqual([2]);
    await sweep.stop();
  });

  it('counts as missed what it finds in each of several runs, if nothing was paused', async () => {
    const { sweep, state, missed, pass } = setup();
    sweep.start();
    await settled();
    Object.assign(state, { overdue: 5, isBacklog: true });
    await pass(31);
    expect(missed).toEqual([5]);
    Object.assign(state, { overdue: 4, isBacklog: false });
    await pass(1);
    expect(missed).toEqual([5, 4]);
    await sweep.stop();
  });

  it('counts as missed nothing that it finds while wake-ups wait in this process', async () => {
    const { sweep, state, missed, overdue, pass } = setup();
    sweep.start();
    await settled();
    const wakeUp = { key: '0', generation: '1', dueAtMs: 0, cause: 'message' } as const;
    const item = overdue.track({ wakeUp, finish: () => undefined });
    state.overdue = 2;
    await pass(31);
    expect(missed).toEqual([]);
    item.finish('finished');
    state.overdue = 2;
    await pass(31);
    expect(missed).toEqual([2]);
    await sweep.stop();
  });

  it('counts what messages should have brought, but not what was overdue at the start or while it is the clock', async () => {
    const { sweep, state, missed, pass } = setup();
    state.overdue = 1;
    sweep.start();
    await settled();
    state.isClock = true;
    state.overdue = 2;
    await pass(2);
    state.isClock = false;
    expect(missed).toEqual([]);
    state.overdue = 4;
    await pass(5);
    expect(missed).toEqual([4]);
    await pass(30);
    expect(missed).toEqual([4]);
    await sweep.stop();
  });
});
