import { type BulkResult } from '../../../packages/operator-page/src/api/attention-contract';
import { changedOf, runBulk } from '../../../packages/operator-page/src/bulk/run-bulk';
import { SHORTCUTS, ShortcutReader } from '../../../packages/operator-page/src/keyboard/shortcuts';
import { actionsFor, isRefundable } from '../../../packages/operator-page/src/order/actions-for';
import { changeParked } from '../../../packages/operator-page/src/parked/change-parked';

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
    const done = await changeParked(api, 'replay', { group }, 'r', () => {}, new AbortController().signal);
    expect(done).toEqual({ done: 250, changed: 250 });
    expect(posted).toEqual([200, 50]);
    expect(asked).toEqual([
      { kind: 'k', reason: '', afterKind: undefined, afterKey: undefined, limit: 200 },
      { kind: 'k', reason: '', afterKind: 'k', afterKey: '199', limit: 200 },
    ]);
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
