import { type DelayTransportName } from '../../src/delay';
import {
  type Contestant,
  type Medians,
  type Metric,
  type Ring,
  type Sample,
  type Target,
  type Workload,
} from '../contestant';
import { BenchService } from '../product/bench-service';
import { checkClosed } from '../product/check-closed';
import { newOrder } from '../product/new-orders';
import { openShop, placeInBulk } from '../product/open-shop';
import { type Flowed, placeAtRate } from '../product/place-at-rate';
import { RunBooks } from '../product/run-books';
import { beginStatistics, writeStatistics } from '../product/statement-statistics';
import { seededRandom } from '../product/seeded-random';
import { rawPluginFloor } from '../floors/raw-plugin-floor';

const PREFIX = 'b2';
const BULK = 500;
const CLOSE_LIMIT_MS = 60_000;
/** Mixed deadlines: as long as a run has time for, and with one, two or no digit of the ladder to wait in. */
const FLOW = { shortestMs: 1_000, longestMs: 20_000 };
const DENSE_MS = 30_000;

const transports = ['ladder', 'delayed-exchange', 'none'] as const satisfies readonly DelayTransportName[];

/** 500 orders a second, each with a deadline of its own. */
async function runFlow(ring: Ring, transport: DelayTransportName): Promise<Sample> {
  const perSecond = ring.isShort ? 200 : 500;
  const seconds = ring.isShort ? 5 : 60;
  return measure(ring, transport, 'B2', async (shop) =>
    placeAtRate(shop, { ...FLOW, prefix: PREFIX, perSecond, seconds, signal: ring.signal }),
  );
}

/** Everything is placed before the first deadline; then they come thick. */
async function runDense(ring: Ring, transport: DelayTransportName): Promise<Sample> {
  const count = ring.isShort ? 2_000 : 20_000;
  const leadMs = ring.isShort ? 10_000 : 25_000;
  return measure(ring, transport, 'B2-DENSE', async (shop, books) => {
    const random = seededRandom();
    const fromMs = (await books.now()) + leadMs;
    const orders = Array.from({ length: count }, (_, n) => ({
      ...newOrder(PREFIX, n, { expiresAt: new Date(Math.round(fromMs + random() * DENSE_MS)) }),
      reminderOffsetsMs: [],
    }));
    await placeInBulk(shop, orders, BULK);
    await books.untilHandedOver(leadMs);
    if ((await books.now()) > fromMs) throw new Error('placing took longer than until the first deadline');
    return { count, placedPerSecond: NaN };
  });
}

async function measure(
  ring: Ring,
  transport: DelayTransportName,
  name: string,
  place: (shop: Awaited<ReturnType<typeof openShop>>, books: RunBooks) => Promise<Flowed>,
): Promise<Sample> {
  const books = await RunBooks.open(ring);
  const shop = await openShop(ring, transport);
  try {
    const service = await BenchService.open(ring, { transport, name: `${name}-${transport}` });
    try {
      await beginStatistics(ring, books);
      const cpuBefore = service.cpuMs();
      const { count, placedPerSecond } = await place(shop, books);
      await books.untilNothingIsPending(CLOSE_LIMIT_MS + DENSE_MS);
      await writeStatistics(ring, books, `${name}-${transport}`);
      const { p50Ms, p99Ms, lastMs } = await checkClosed(books, PREFIX, count);
      const serviceCpuUs = ((service.cpuMs() - cpuBefore) * 1_000) / count;
      const rate = Number.isNaN(placedPerSecond) ? {} : { placedPerSecond };
      return { ...rate, p50Ms, p99Ms, maxMs: lastMs, serviceCpuUs };
    } finally {
      await service.stop();
    }
  } finally {
    await shop.close();
    await books.close();
  }
}

type Run = (ring: Ring, transport: DelayTransportName) => Promise<Sample>;

const product = (transport: DelayTransportName, run: Run): Contestant => ({
  name: `product, ${transport}`,
  role: 'product',
  broker: transport === 'delayed-exchange' ? 'plugin' : 'plain',
  run: (ring) => run(ring, transport),
});

const metrics: readonly Metric[] = [
  { key: 'p50Ms', title: 'p50 ms', better: 'lower', hasRatio: false },
  { key: 'p99Ms', title: 'p99 ms', better: 'lower' },
  { key: 'maxMs', title: 'max ms', better: 'lower', hasRatio: false },
  { key: 'serviceCpuUs', title: 'service CPU µs/order', better: 'lower', hasRatio: false },
];

function p99Target(transport: DelayTransportName, atMostMs: number, above?: string): Target {
  return {
    says: `p99 (${transport}) ≤ ${atMostMs} ms${above === undefined ? '' : ` over the p99 of ${above}`}`,
    judge: (medians: Medians) => {
      const mine = medians.of(`product, ${transport}`, 'p99Ms');
      const base = above === undefined ? 0 : medians.of(above, 'p99Ms');
      if (mine === undefined || base === undefined) return undefined;
      return { value: mine - base, isMet: mine - base <= atMostMs };
    },
  };
}

const rawPlugin = rawPluginFloor(FLOW);

/** From the deadline to the committed close; early closes are an error of the run. */
export const LATENESS: Workload = {
  id: 'B2',
  title: 'lateness: 500 orders/s for 60 s, deadlines 1 to 20 s ahead; from due to committed close',
  contestants: [...transports.map((transport) => product(transport, runFlow)), rawPlugin],
  metrics: [{ key: 'placedPerSecond', title: 'placed/s', better: 'higher', hasRatio: false }, ...metrics],
  targets: [p99Target('ladder', 100), p99Target('delayed-exchange', 60, rawPlugin.name), p99Target('none', 100)],
};

/** The same with 20 000 deadlines within half a minute, all placed before. */
export const DENSE_LATENESS: Workload = {
  id: 'B2-DENSE',
  title: 'lateness: 20 000 orders due over 30 s',
  contestants: transports.map((transport) => product(transport, runDense)),
  metrics,
  targets: [p99Target('ladder', 250)],
};
