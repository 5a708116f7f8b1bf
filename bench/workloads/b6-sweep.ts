import { PLAN_BY_INDEX } from '../../src/database';
import { SettlementQueries } from '../../src/timeouts/engine/timeout-settler';
import { type Ring, type Sample, type Workload } from '../contestant';
import { BenchService } from '../product/bench-service';
import { checkClosed } from '../product/check-closed';
import { fillClosed } from '../product/fill-orders';
import { RunBooks } from '../product/run-books';
import { beginStatistics, writeStatistics } from '../product/statement-statistics';
import { LOCK_ORDERS } from '../floors/close-statements';
import { placeOverdue } from '../floors/placed-orders';

const PREFIX = 'b6';
/** Of the sweep: the handler's default. */
const PAGE = 200;
const CLAIMS = 60;
const CLOSE_LIMIT_MS = 240_000;

const sizesOf = (ring: Ring): { overdue: number; finished: number } =>
  ring.isShort ? { overdue: 5_000, finished: 100_000 } : { overdue: 100_000, finished: 5_000_000 };

/** The service comes back after an outage, without any message: everything is found by the sweep. */
async function run(ring: Ring): Promise<Sample> {
  const { overdue, finished } = sizesOf(ring);
  await placeOverdue(ring, PREFIX, overdue);
  const books = await RunBooks.open(ring);
  try {
    const few = finished / 10;
    await fillClosed(books, { prefix: 'old', from: 0, count: few });
    const claimMs = await timeClaims(ring);
    await fillClosed(books, { prefix: 'old', from: few, count: finished - few });
    const claimInTenfoldMs = await timeClaims(ring);
    await books.checkpoint();
    await beginStatistics(ring, books);
    const service = await BenchService.open(ring, { transport: 'none', name: 'B6' });
    try {
      await books.untilNothingIsPending(CLOSE_LIMIT_MS);
    } finally {
      await service.stop();
    }
    await writeStatistics(ring, books, 'B6');
    const { firstMs, lastMs } = await checkClosed(books, PREFIX, overdue);
    const perSecond = (overdue / (lastMs - firstMs)) * 1_000;
    return { perSecond, claimMs, claimInTenfoldMs, growthPercent: (claimInTenfoldMs / claimMs - 1) * 100 };
  } finally {
    await books.close();
  }
}

/**
 * Median of claiming one page and locking its orders, undone each time: the server's own time for both statements, with
 * the service's settings. By the clock of a client on a machine that is still writing the same claim took 3 ms or 6.
 */
async function timeClaims(ring: Ring): Promise<number> {
  const books = await RunBooks.open(ring);
  try {
    await books.query('VACUUM (ANALYZE)');
    // What was filled before is still being written otherwise, ten times as much the second time.
    await books.checkpoint();
    await books.query(PLAN_BY_INDEX);
    const { lockOverdue } = new SettlementQueries('order_timeout');
    const page = ['order.payment', 0, '-infinity', '', 'infinity', PAGE];
    const rows = await books.query<{ key: string }>(lockOverdue, page);
    if (rows.length !== PAGE) throw new Error(`a claim found ${rows.length} rows`);
    const keys = rows.map(({ key }) => key);
    const took: number[] = [];
    for (let claim = 0; claim < CLAIMS; claim += 1) {
      await books.query('BEGIN');
      took.push((await books.executionMs(lockOverdue, page)) + (await books.executionMs(LOCK_ORDERS, [keys])));
      await books.query('ROLLBACK');
    }
    return took.sort((a, b) => a - b)[CLAIMS >> 1] ?? NaN;
  } finally {
    await books.close();
  }
}

/** Overdue orders among what years have left behind. */
export const SWEEP: Workload = {
  id: 'B6',
  title: 'sweep only: 100 000 orders overdue at once among 5 000 000 finished ones',
  contestants: [{ name: 'product, none', role: 'product', run }],
  metrics: [
    { key: 'perSecond', title: 'orders closed/s', better: 'higher' },
    { key: 'claimMs', title: 'claim ms, 500 000 rows', better: 'lower' },
    { key: 'claimInTenfoldMs', title: '5 000 000 rows', better: 'lower' },
    { key: 'growthPercent', title: 'growth %', better: 'lower' },
  ],
  maxRounds: 1,
  targets: [
    {
      says: 'orders/s ≥ B3 (none)',
      judge: (medians) => {
        const mine = medians.of('product, none', 'perSecond');
        const burst = medians.workload('B3').of('product, none', 'perSecond');
        if (mine === undefined || burst === undefined) return undefined;
        return { value: mine / burst, isMet: mine >= burst };
      },
    },
    {
      says: 'a claim takes < 20 % longer among 10 × the rows',
      judge: (medians) => {
        const value = medians.of('product, none', 'growthPercent');
        return value === undefined ? undefined : { value, isMet: value < 20 };
      },
    },
  ],
};
