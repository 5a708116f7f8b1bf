import { setTimeout as sleep } from 'node:timers/promises';
import { type DelayTransportSetting } from '../../src';
import { type Ring, type Sample } from '../contestant';
import { BenchService } from './bench-service';
import { checkClosed } from './check-closed';
import { newOrder } from './new-orders';
import { openShop, placeInBulk } from './open-shop';
import { RunBooks } from './run-books';
import { beginStatistics, writeStatistics } from './statement-statistics';

interface Burst {
  /** Of the orders' ids. */
  readonly prefix: string;
  /** Of profiles. */
  readonly name: string;
  readonly transport: DelayTransportSetting;
  readonly count: number;
  /** Processes of the service. @default 1 */
  readonly instances?: number;
}

const BULK = 500;
const CLOSE_LIMIT_MS = 120_000;
/** A handed-over wake-up needs a moment to come to rest, and the machine too. */
const REST_MS = 3_000;
/** Placing, and handing every wake-up to the broker, must be over by then. */
const leadMs = (ring: Ring): number => (ring.isShort ? 12_000 : 30_000);

/** Orders due at one instant, closed by the service with its default settings; from the instant to the last commit. */
export async function runBurst(ring: Ring, burst: Burst): Promise<Sample> {
  const { transport, prefix, count } = burst;
  const books = await RunBooks.open(ring);
  const shop = await openShop(ring, transport);
  const services: BenchService[] = [];
  try {
    for (let number = 0; number < (burst.instances ?? 1); number += 1) {
      services.push(await BenchService.open(ring, burst));
    }
    const dueAtMs = Math.ceil((await books.now()) + leadMs(ring));
    const orders = Array.from({ length: count }, (_, n) => newOrder(prefix, n, { expiresAt: new Date(dueAtMs) }));
    await placeInBulk(shop, orders, BULK);
    await shop.close();
    await books.untilHandedOver(leadMs(ring));
    return await measure(ring, burst, { books, services, dueAtMs });
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await shop.close().catch(() => undefined);
    await books.close();
  }
}

interface Placed {
  readonly books: RunBooks;
  readonly services: readonly BenchService[];
  readonly dueAtMs: number;
}

async function measure(ring: Ring, burst: Burst, { books, services, dueAtMs }: Placed): Promise<Sample> {
  const cpuMs = (): number => services.reduce((sum, service) => sum + service.cpuMs(), 0);
  await books.checkpoint();
  const restMs = dueAtMs - (await books.now());
  if (restMs < REST_MS) throw new Error(`placing took until ${Math.round(restMs)} ms before the instant`);
  await beginStatistics(ring, books);
  const cpuBefore = cpuMs();
  await sleep(restMs);
  await books.untilNothingIsPending(CLOSE_LIMIT_MS);
  const usedMs = cpuMs() - cpuBefore;
  const closed = await checkClosed(books, burst.prefix, burst.count);
  await books.untilHandedOver(CLOSE_LIMIT_MS);
  const eventsMs = (await books.now()) - dueAtMs;
  await writeStatistics(ring, books, burst.name);
  return {
    perSecond: (closed.count / closed.lastMs) * 1_000,
    firstMs: closed.firstMs,
    p50Ms: closed.p50Ms,
    lastMs: closed.lastMs,
    eventsMs,
    serviceCpuUs: (usedMs * 1_000) / closed.count,
  };
}
