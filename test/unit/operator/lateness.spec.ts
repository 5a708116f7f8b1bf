import { Lateness } from '../../../src/api/operator/overview';
import { type SettledRow, type TimeoutCause } from '../../../src/timeouts';

function rowsOf(cause: TimeoutCause, lateMs: readonly number[], type = 'done'): SettledRow[] {
  return lateMs.map((ms) => ({ due: { cause, dueAt: new Date(1_000_000 - ms) }, outcome: { type } })) as never;
}

describe('lateness', () => {
  it('is told for each clock', () => {
    const lateness = new Lateness();
    lateness.settled(
      'order.payment',
      rowsOf(
        'message',
        Array.from({ length: 100 }, (_, at) => at + 1),
      ),
      1_000_000,
    );
    lateness.settled('order.payment', rowsOf('passive', [7, -3]), 1_000_000);
    lateness.settled('order.payment', rowsOf('operator', [5_000]), 1_000_000);
    lateness.settled('order.payment', rowsOf('sweep', [5_000], 'retry'), 1_000_000);
    expect(lateness.read()).toEqual([
      { clock: 'message', p50Ms: 50, p99Ms: 99, count: 100 },
      { clock: 'sweep', p50Ms: null, p99Ms: null, count: 0 },
      { clock: 'access', p50Ms: 0, p99Ms: 7, count: 2 },
    ]);
  });

  it('is that of the last 1,000 timeouts', () => {
    const lateness = new Lateness();
    lateness.settled('k', rowsOf('sweep', [90_000]), 1_000_000);
    for (let at = 0; at < 10; at++) lateness.settled('k', rowsOf('sweep', Array<number>(100).fill(at)), 1_000_000);
    expect(lateness.read()[1]).toEqual({ clock: 'sweep', p50Ms: 4, p99Ms: 9, count: 1_000 });
  });
});
