import { type BusyRow, type TimeoutCause, type WorkItem } from '../../../src/timeouts/model/timeout';
import { wakeLater } from '../../../src/timeouts/engine/batches';

const NOW = 1_000_000;
const REMAINING = 60_000;

const row = (extra: Partial<BusyRow> = {}): BusyRow => ({
  key: 'a',
  generation: '1',
  due_at: new Date(NOW),
  attempts: 0,
  payload: {},
  traceparent: null,
  remaining_ms: REMAINING,
  busy: false,
  leased: false,
  ...extra,
});
const hint = (cause: TimeoutCause, dueAtMs: number, key = 'a'): WorkItem => ({
  wakeUp: { key, generation: '1', dueAtMs, cause },
  finish: () => undefined,
});
const again = [{ key: 'a', generation: '1', due_ms: NOW + REMAINING }];

describe('a row that is far from due is woken once more', () => {
  it.each<[string, BusyRow, WorkItem[]]>([
    ['when its message came too early', row(), [hint('message', NOW + REMAINING)]],
    ['when a fraction of a millisecond was rounded up', row(), [hint('message', NOW + REMAINING + 1)]],
    ['when it is leased, as its owner may die', row({ leased: true }), [hint('message', NOW - 5)]],
    [
      'for the message, also if something else asked',
      row({ leased: true }),
      [hint('message', NOW), hint('passive', NOW)],
    ],
  ])('%s', (_case, early, items) => expect(wakeLater([early], items, NOW)).toEqual(again));
});

describe('a row that is far from due is left alone', () => {
  it.each<[string, BusyRow, WorkItem[]]>([
    ['when it was postponed after its message was written', row(), [hint('message', NOW - 5)]],
    ['by a read', row({ leased: true }), [hint('passive', NOW)]],
    ['by an operator', row({ leased: true }), [hint('operator', NOW)]],
    ['by a sweep', row({ leased: true }), [hint('sweep', NOW)]],
    ['when the message is about another row', row({ leased: true }), [hint('message', NOW, 'b')]],
  ])('%s', (_case, early, items) => expect(wakeLater([early], items, NOW)).toEqual([]));
});
