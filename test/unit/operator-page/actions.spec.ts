import { type BulkResult } from '../../../packages/operator-page/src/api/attention-contract';
import { ApiProblem } from '../../../packages/operator-page/src/api/api-problem';
import { changedOf, runBulk } from '../../../packages/operator-page/src/bulk/run-bulk';
import { partsOf, runMany } from '../../../packages/operator-page/src/bulk/run-many';
import { SHORTCUTS, ShortcutReader } from '../../../packages/operator-page/src/keyboard/shortcuts';
import { actionsFor, isRefundable } from '../../../packages/operator-page/src/order/actions-for';
import { changeParked, parkedActionsFor } from '../../../packages/operator-page/src/parked/change-parked';

const part = (outcomes: Record<string, number>, next: string | null): BulkResult => ({
  dryRun: false,
  count: Object.values(outcomes).reduce((sum, count) => sum + count, 0),
  outcomes,
  sample: Object.keys(outcomes).map((outcome) => ({ id: 'o-1', outcome })),
  next,
});

describe('a bulk action of the operator page', () => {
  it('goes on with the cursor until all orders are handled, and adds up', async () => {
    const parts = [part({ closed: 3, BUSY: 1 }, 'c-1'), part({ closed: 2 }, null)];
    const cursors: (string | undefined)[] = [];
    const progress: number[] = [];
    const call = async (cursor: string | undefined): Promise<BulkResult> => {
      cursors.push(cursor);
      return parts.shift() ?? part({}, null);
    };
    const total = await runBulk(call, ({ count }) => progress.push(count), new AbortController().signal);
    expect(cursors).toEqual([undefined, 'c-1']);
    expect(progress).toEqual([4, 6]);
    expect(total).toMatchObject({ count: 6, outcomes: { closed: 5, BUSY: 1 }, isComplete: true });
    expect(total.sample[0]?.outcome).toBe('BUSY');
    expect(changedOf(total)).toBe(5);
  });

  it('stops between two calls, and says that it is not complete', async () => {
    const stopping = new AbortController();
    const call = async (): Promise<BulkResult> => part({ closed: 1 }, 'more');
    const total = await runBulk(call, () => stopping.abort(), stopping.signal);
    expect(total).toMatchObject({ count: 1, isComplete: false });
  });
});

describe('an action on a group of parked timeouts', () => {
  it('goes through all pages of the group, and of no other', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => ({ kind: 'k', key: String(index).padStart(3, '0') }));
    const asked: unknown[] = [];
    const posted: number[] = [];
    const api = {
      get: async <T>(_path: string, query: object = {}): Promise<T> => {
        asked.push(query);
        const { afterKey = '' } = query as { afterKey?: string };
        return rows.filter(({ key }) => key > afterKey).slice(0, 200) as T;
      },
      post: async <T>(_path: string, body: object = {}): Promise<T> => {
        const { timeouts } = body as { timeouts: unknown[] };
        posted.push(timeouts.length);
        return { count: timeouts.length } as T;
      },
    };
    const group = { kind: 'k', reason: '', count: 250, oldestAt: '2030-03-01T12:00:00Z' };
    const change = { action: 'replay', choice: { group }, reason: 'r', nowMs: 0 } as const;
    const done = await changeParked(api, change, () => {}, new AbortController().signal);
    expect(done).toEqual({ done: 250, changed: 250, refused: {} });
    expect(posted).toEqual([200, 50]);
    expect(asked).toEqual([
      { kind: 'k', reason: '', afterKind: undefined, afterKey: undefined, limit: 200 },
      { kind: 'k', reason: '', afterKind: 'k', afterKey: '199', limit: 200 },
    ]);
  });
});

describe('an action on many things', () => {
  const never = new AbortController().signal;
  const refusal = new ApiProblem(409, 'ORDER_HAS_MONEY', 'refund it first');

  it('counts what is refused of single things, and goes on', async () => {
    const perform = async ([id = 0]: readonly number[]): Promise<number> => {
      if (id === 2) throw refusal;
      return 1;
    };
    const steps: number[] = [];
    const end = await runMany(partsOf([1, 2, 3], 1), perform, ({ done }) => steps.push(done), never);
    expect(steps).toEqual([1, 2, 3]);
    expect(end).toEqual({ done: 3, changed: 2, refused: { ORDER_HAS_MONEY: 1 } });
  });

  it.each([
    ['a part of several', 2, refusal],
    ['the session has ended', 1, new ApiProblem(401, 'UNAUTHORIZED', 'sign in')],
    ['nothing answers', 1, new ApiProblem(0, 'NO_ANSWER', 'away')],
  ])('ends with the problem if it concerns all: %s', async (_case, size, problem) => {
    const perform = (): Promise<number> => Promise.reject(problem);
    await expect(runMany(partsOf([1, 2], size), perform, () => {}, never)).rejects.toBe(problem);
  });

  it('stops between two parts', async () => {
    const stopping = new AbortController();
    const end = await runMany(
      partsOf([1, 2, 3], 1),
      async () => 1,
      () => stopping.abort(),
      stopping.signal,
    );
    expect(end.done).toBe(1);
  });
});

describe('the orders of parked timeouts', () => {
  it('get a new deadline one by one, counted from the time of the service', async () => {
    const posted: [string, object][] = [];
    const api = {
      get: () => Promise.reject(new Error('nothing is read')),
      post: async <T>(path: string, body: object = {}): Promise<T> => (posted.push([path, body]), {} as T),
    };
    const timeouts = ['o-1', 'o/2'].map((key) => ({ kind: 'order.payment', key }));
    const nowMs = Date.parse('2030-03-01T12:00:00Z');
    const change = { action: 'extend', choice: { timeouts }, reason: 'r', afterMs: 60_000, nowMs } as const;
    await changeParked(api, change, () => {}, new AbortController().signal);
    const body = { reason: 'r', expiresAt: '2030-03-01T12:01:00.000Z' };
    expect(posted).toEqual([
      ['orders/o-1/extend', body],
      ['orders/o%2F2/extend', body],
    ]);
  });

  it('are only those of payment deadlines', () => {
    expect(parkedActionsFor('order.payment')).toEqual(['replay', 'reschedule', 'extend', 'close', 'discard']);
    expect(parkedActionsFor('payment.refund')).toEqual(['replay', 'reschedule', 'discard']);
  });
});

describe('the actions of an order', () => {
  const attempt = { provider: 'p', reference: 'r', amount: 1, currency: 'EUR', createdAt: '2030-03-01T12:00:00Z' };
  const open = { ...attempt, status: 'OPEN' };
  const pending = { status: 'PENDING', autoClose: true, attempts: [open], unmatched: [] } as const;

  it('are those that fit its status', () => {
    const roles = ['read', 'operate', 'money'] as const;
    expect(actionsFor(pending, roles)).toEqual(['extend', 'payCheck', 'autoCloseOff', 'cancel', 'close']);
    expect(actionsFor({ ...pending, autoClose: false, attempts: [] }, roles)).toContain('autoCloseOn');
    expect(actionsFor({ ...pending, status: 'PAID', attempts: [] }, roles)).toEqual([]);
  });

  it('are none for a role that may only read', () => {
    expect(actionsFor(pending, ['read'])).toEqual([]);
    expect(isRefundable({ ...attempt, status: 'PAID', paidAmount: 1 }, ['read', 'operate'])).toBe(false);
  });

  it('move money only with the role for it', () => {
    expect(isRefundable({ ...attempt, status: 'PAID', paidAmount: 1 }, ['money'])).toBe(true);
    expect(isRefundable(open, ['money'])).toBe(false);
  });
});

describe('the shortcuts of the operator page', () => {
  it.each(Object.entries(SHORTCUTS))('%s is %s', (name, keys) => {
    const reader = new ShortcutReader();
    const found = keys.split(' ').map((key, index) => reader.read(key, index * 100));
    expect(found.at(-1)).toBe(name);
  });

  it('forget a first key after a while', () => {
    const reader = new ShortcutReader();
    reader.read('g', 0);
    expect(reader.read('r', 5_000)).toBe('refresh');
  });
});
