import { BacklogDrainer } from '../../../src/timeouts/engine/timeout-processor';
import { type TimeoutCause } from '../../../src/timeouts';
import { type WorkItem } from '../../../src/timeouts/model/timeout';
import { ManualClock } from '../../support/manual-clock';

const PAGE = 100;
const itemBy = (cause: TimeoutCause): WorkItem => ({
  wakeUp: { key: 'a', generation: '1', dueAtMs: 0, cause },
  finish: () => undefined,
});
const items = [itemBy('message')];

function setup({ waiting = 2 * PAGE, overdue = 0, pageSize = PAGE } = {}) {
  const clock = new ManualClock();
  const state = { waiting, overdue, isSaturated: false, pageMs: 0 };
  const pages: { after: string; overdueByMs: number; cause: TimeoutCause }[] = [];
  const order: ('newest' | 'oldest')[] = [];
  const backlog = new BacklogDrainer(
    {
      pageSize,
      queue: state,
      pages: {
        settlePage: async (range, overdueByMs, cause) => {
          pages.push({ after: range?.from.key ?? '', overdueByMs, cause });
          order.push('oldest');
          clock.advance(state.pageMs);
          const rows = Math.min(pageSize, state.overdue);
          state.overdue -= rows;
          const from = { at: 'now', key: String(state.overdue) };
          const rest = { from, until: 'infinity', beganMs: 0, sinceMs: 0, isPast: false };
          return { rows, missed: 0, next: rows === pageSize ? rest : undefined };
        },
        settleNewest: async () => void order.push('newest'),
      },
    },
    clock,
  );
  return { backlog, state, pages, order };
}

describe('a backlog', () => {
  it('is none while less than two batches wait: each wake-up is looked up by its own key', async () => {
    const { backlog, pages } = setup({ waiting: 2 * PAGE - 1, overdue: 1_000 });
    await backlog.workOff(items);
    expect(pages).toEqual([]);
  });

  it('is read from the table to its end, page after page, for the cause that it has', async () => {
    const { backlog, pages } = setup({ overdue: 250 });
    await backlog.workOff(items);
    expect(pages).toEqual([
      { after: '', overdueByMs: 0, cause: 'message' },
      { after: '150', overdueByMs: 0, cause: 'message' },
      { after: '50', overdueByMs: 0, cause: 'message' },
    ]);
  });

  it('is read in turns with what has just fallen due, also while the wake-ups of the last pass have their turn', async () => {
    const { backlog, order } = setup({ overdue: 250 });
    await backlog.workOff(items);
    expect(order).toEqual(['newest', 'oldest', 'newest', 'oldest', 'newest', 'oldest']);
    await backlog.workOff(items);
    expect(order.slice(6)).toEqual(['newest']);
  });

  it.each([
    [['message', 'sweep'], ['message']],
    [['sweep'], ['sweep']],
    [['sweep', 'operator'], []],
    [['passive'], []],
  ] as const)('woken by %j is worked off by %j: a read means one timeout only', async (causes, expected) => {
    const { backlog, pages } = setup();
    await backlog.workOff(causes.map(itemBy));
    expect(pages.map(({ cause }) => cause)).toEqual(expected);
  });

  it('ends with what was overdue at its beginning: what is put off meanwhile is not met again', async () => {
    const { backlog, state, pages } = setup({ overdue: 350 });
    state.pageMs = 100;
    await backlog.workOff(items);
    expect(pages.map(({ overdueByMs }) => overdueByMs)).toEqual([0, 100, 200, 300]);
  });

  it('is never one for a handler of single timeouts, whose wake-ups cost as much', async () => {
    const { backlog, pages } = setup({ waiting: 1_000, overdue: 1_000, pageSize: 1 });
    await backlog.workOff(items);
    expect(pages).toEqual([]);
  });

  it('is read by every batch that begins before the end is reached, and by none after it', async () => {
    const { backlog, pages } = setup({ overdue: 250 });
    await Promise.all([backlog.workOff(items), backlog.workOff(items)]);
    expect(pages).toHaveLength(4);
    await backlog.workOff(items);
    expect(pages).toHaveLength(4);
  });

  it('is read again when all that waited at the end of a pass had its turn', async () => {
    const { backlog, pages } = setup({ waiting: 3 * PAGE });
    const batch = Array.from({ length: PAGE }, () => itemBy('message'));
    await backlog.workOff(batch);
    await backlog.workOff(batch);
    await backlog.workOff(batch);
    expect(pages).toHaveLength(1);
    await backlog.workOff(batch);
    expect(pages).toHaveLength(2);
  });

  it('handles the received deliveries after 20 s', async () => {
    const { backlog, state, pages } = setup({ overdue: 1_000_000 });
    state.pageMs = 5_000;
    await backlog.workOff(items);
    expect(pages).toHaveLength(4);
    await backlog.workOff(items);
    expect(pages).toHaveLength(4);
  });

  it('is left while the worker may not begin anything', async () => {
    const { backlog, state, order } = setup({ overdue: 1_000 });
    state.isSaturated = true;
    await backlog.workOff(items);
    expect(order).toEqual([]);
  });

  it('is left when it cannot be read: the wake-ups are looked at, and meet the fault themselves', async () => {
    const fail = (): Promise<never> => Promise.reject(new Error('unavailable'));
    const plan = {
      pageSize: PAGE,
      queue: { waiting: 2 * PAGE, isSaturated: false },
      pages: { settlePage: fail, settleNewest: fail },
    };
    await expect(new BacklogDrainer(plan, new ManualClock()).workOff(items)).resolves.toBeUndefined();
  });

  it('is not read again before the wake-ups have met the fault themselves', async () => {
    const { pages, state } = setup({ overdue: 1_000 });
    let fails = true;
    const settlePage = async (): Promise<{ rows: number; next: undefined }> => {
      pages.push({ after: '', overdueByMs: 0, cause: 'message' });
      return { rows: 0, next: undefined };
    };
    const settleNewest = async (): Promise<void> => {
      if (fails) throw new Error('unavailable');
    };
    const plan = { pageSize: PAGE, queue: state, pages: { settlePage, settleNewest } };
    const backlog = new BacklogDrainer(plan, new ManualClock());
    await backlog.workOff(items);
    fails = false;
    await backlog.workOff(items);
    expect(pages).toEqual([]);
  });
});
