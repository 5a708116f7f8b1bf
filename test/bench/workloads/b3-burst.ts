import { setTimeout as sleep } from 'node:timers/promises';
import { type DelayTransportSetting } from '../../../src';
import { type Contestant, type Medians, type Ring, type Sample, type Target, type Workload } from '../contestant';
import { burstPeers } from '../peers';
import { BenchService } from '../product/bench-service';
import { checkClosed } from '../product/check-closed';
import { newOrder } from '../product/new-orders';
import { openShop, placeInBulk } from '../product/open-shop';
import { RunBooks } from '../product/run-books';
import { beginStatistics, writeStatistics } from '../product/statement-statistics';
import { batchFloor } from '../floors/batch-floor';
import { pgbenchFloor } from '../floors/pgbench-floor';

const PREFIX = 'b3';
const BULK = 500;
const CLOSE_LIMIT_MS = 120_000;
/** A handed-over wake-up needs a moment to come to rest, and the machine too. */
const REST_MS = 3_000;

const ordersIn = (ring: Ring): number => (ring.isShort ? 2_000 : 20_000);
/** Placing, and handing every wake-up to the broker, must be over by then. */
const leadMs = (ring: Ring): number => (ring.isShort ? 12_000 : 30_000);

/** The service with its default settings, one process; from the instant to the last commit. */
async function runProduct(ring: Ring, transport: DelayTransportSetting): Promise<Sample> {
  const name = `B3-${transport}`;
  const books = await RunBooks.open(ring);
  const shop = await openShop(ring, transport);
  try {
    const service = await BenchService.start(ring, { transport, name });
    try {
      const dueAtMs = Math.ceil((await books.now()) + leadMs(ring));
      const orders = Array.from({ length: ordersIn(ring) }, (_, n) =>
        newOrder(PREFIX, n, { expiresAt: new Date(dueAtMs) }),
      );
      await placeInBulk(shop, orders, BULK);
      await shop.close();
      await books.untilHandedOver(leadMs(ring));
      await books.checkpoint();
      const restMs = dueAtMs - (await books.now());
      if (restMs < REST_MS) throw new Error(`placing took until ${Math.round(restMs)} ms before the instant`);
      await beginStatistics(ring, books);
      const cpuBefore = service.cpuMs();
      await sleep(restMs);
      await books.untilNothingIsPending(CLOSE_LIMIT_MS);
      const cpuMs = service.cpuMs() - cpuBefore;
      const closed = await checkClosed(books, PREFIX, orders.length);
      await books.untilHandedOver(CLOSE_LIMIT_MS);
      const eventsMs = (await books.now()) - dueAtMs;
      await writeStatistics(ring, books, name);
      return {
        perSecond: (closed.count / closed.lastMs) * 1_000,
        firstMs: closed.firstMs,
        p50Ms: closed.p50Ms,
        lastMs: closed.lastMs,
        eventsMs,
        serviceCpuUs: (cpuMs * 1_000) / closed.count,
      };
    } finally {
      await service.stop();
    }
  } finally {
    await shop.close().catch(() => undefined);
    await books.close();
  }
}

const product = (transport: DelayTransportSetting): Contestant => ({
  name: `product, ${transport}`,
  role: 'product',
  run: (ring) => runProduct(ring, transport),
});

const TRANSPORTS = ['ladder', 'none'] as const;
const pgbench = pgbenchFloor(PREFIX, ordersIn);
const batches = [1, 2].map((connections) => batchFloor(PREFIX, ordersIn, connections));

/** 20 000 orders due at one instant, without payment attempts. */
export const BURST: Workload = {
  id: 'B3',
  title: 'burst: 20 000 orders due at the same instant, no payment attempt',
  contestants: [...TRANSPORTS.map((transport) => product(transport)), ...burstPeers, pgbench, ...batches],
  metrics: [
    { key: 'perSecond', title: 'orders closed/s', better: 'higher' },
    { key: 'firstMs', title: 'first ms', better: 'lower', hasRatio: false },
    { key: 'p50Ms', title: 'p50 ms', better: 'lower', hasRatio: false },
    { key: 'lastMs', title: 'last ms', better: 'lower', hasRatio: false },
    { key: 'eventsMs', title: 'events out ms', better: 'lower', hasRatio: false },
    { key: 'serviceCpuUs', title: 'service CPU µs/order', better: 'lower', hasRatio: false },
  ],
  targets: TRANSPORTS.flatMap((transport) => [
    target(transport, "the best peer's real work", 8, (medians) => medians.highest('peer', 'perSecond')),
    target(transport, 'the prepared pgbench', 4, (medians) => medians.of(pgbench.name, 'perSecond')),
    target(transport, 'the bare batches on two connections', 0.3, (medians) =>
      medians.of(batches[1]?.name ?? '', 'perSecond'),
    ),
    target(transport, 'the bare batches on one connection', 0.3, (medians) =>
      medians.of(batches[0]?.name ?? '', 'perSecond'),
    ),
  ]),
};

function target(
  transport: DelayTransportSetting,
  what: string,
  atLeast: number,
  other: (medians: Medians) => number | undefined,
): Target {
  return {
    says: `orders/s (${transport}) ≥ ${atLeast} × ${what}`,
    judge: (medians) => {
      const mine = medians.of(product(transport).name, 'perSecond');
      const theirs = other(medians);
      if (mine === undefined || theirs === undefined) return undefined;
      return { value: mine / theirs, isMet: mine / theirs >= atLeast };
    },
  };
}
