import { setTimeout as sleep } from 'node:timers/promises';
import { type DelayTransportSetting } from '../../src';
import { type Contestant, type Medians, type Ring, type Sample, type Target, type Workload } from '../contestant';
import { BenchService } from '../product/bench-service';
import { type BrokerUsage, brokerUsage } from '../product/broker-usage';
import { checkClosed } from '../product/check-closed';
import { fillPending } from '../product/fill-orders';
import { newOrder } from '../product/new-orders';
import { openShop, type Shop } from '../product/open-shop';
import { placeAtRate } from '../product/place-at-rate';
import { RunBooks } from '../product/run-books';
import { runCallers } from '../product/run-callers';

const PREFIX = 'b2';
const FILL = 'fill';
const BULK = 500;
const LANES = 2;
const FAR_MS = 3 * 3_600_000;
const HAND_OVER_LIMIT_MS = 12 * 60_000;
const CLOSE_LIMIT_MS = 60_000;
/** Management figures and the broker's own clearing up are seconds old. */
const SETTLE_MS = 12_000;
const TABLES = ['orders', 'order_line', 'order_history', 'reservation', 'timeout'];

interface Sizes {
  readonly pending: number;
  /** Placed through the product at the beginning and at the end. */
  readonly tenth: number;
  readonly flowSeconds: number;
}

const sizesOf = (ring: Ring): Sizes =>
  ring.isShort
    ? { pending: 20_000, tenth: 2_000, flowSeconds: 5 }
    : { pending: 1_000_000, tenth: 50_000, flowSeconds: 60 };

async function run(ring: Ring, transport: DelayTransportSetting): Promise<Sample> {
  const { pending, tenth, flowSeconds } = sizesOf(ring);
  const books = await RunBooks.open(ring);
  const shop = await openShop(ring, transport);
  const service = await BenchService.open(ring, { transport, name: `B5-${transport}` });
  try {
    await sleep(SETTLE_MS);
    const before = await brokerUsage(ring);
    await books.checkpoint();
    const firstPerSecond = await placeFar(shop, 'first', tenth);
    await fillPending(books, { prefix: FILL, from: 0, count: pending - 2 * tenth }, transport !== 'none');
    await books.untilHandedOver(HAND_OVER_LIMIT_MS);
    await books.checkpoint();
    const lastPerSecond = await placeFar(shop, 'last', tenth);
    await books.untilHandedOver(HAND_OVER_LIMIT_MS);
    const sizes = await sizesPerOrder(ring, books, before, pending);
    const flow = { prefix: PREFIX, perSecond: 500, seconds: flowSeconds, shortestMs: 1_000, longestMs: 20_000 };
    const { count } = await placeAtRate(shop, { ...flow, signal: ring.signal });
    await books.untilNone(
      'closing the orders',
      `SELECT 1 FROM order_timeout.timeout
        WHERE kind = 'order.payment' AND state = 'pending' AND next_attempt_at < now() + interval '1 hour'`,
      CLOSE_LIMIT_MS,
    );
    await books.query('ANALYZE');
    const { p50Ms, p99Ms } = await checkClosed(books, PREFIX, count);
    const serviceMiB = service.memoryBytes() / 2 ** 20;
    return { firstPerSecond, lastPerSecond, ...sizes, serviceMiB, p50Ms, p99Ms };
  } finally {
    await service.stop();
    await shop.close();
    await books.close();
  }
}

async function placeFar(shop: Shop, prefix: string, count: number): Promise<number> {
  const seconds = await runCallers(LANES, count / BULK, (n) =>
    shop.place(
      Array.from({ length: BULK }, (_, index) => ({
        ...newOrder(prefix, n * BULK + index, { paymentWindowMs: FAR_MS }),
        reminderOffsetsMs: [],
      })),
    ),
  );
  return count / seconds;
}

async function sizesPerOrder(
  ring: Ring,
  books: RunBooks,
  before: BrokerUsage,
  pending: number,
): Promise<Record<'timeoutBytes' | 'diskBytes' | 'brokerMemoryBytes' | 'brokerDiskBytes', number>> {
  await sleep(SETTLE_MS);
  const after = await brokerUsage(ring);
  const [row] = await books.query<{ timeout: string; all: string }>(
    `SELECT pg_total_relation_size('order_timeout.timeout')::text AS timeout,
            sum(pg_total_relation_size('order_timeout.' || name))::text AS all FROM unnest($1::text[]) t(name)`,
    [TABLES],
  );
  return {
    timeoutBytes: Number(row?.timeout) / pending,
    diskBytes: Number(row?.all) / pending,
    brokerMemoryBytes: (after.memory - before.memory) / pending,
    brokerDiskBytes: (after.disk - before.disk) / pending,
  };
}

const TRANSPORTS = ['ladder', 'none'] as const;

const product = (transport: DelayTransportSetting): Contestant => ({
  name: `product, ${transport}`,
  role: 'product',
  run: (ring) => run(ring, transport),
});

function target(
  says: string,
  judge: (figure: (metric: string) => number | undefined) => number | undefined,
  atMost: number,
): Target[] {
  return TRANSPORTS.map((transport) => ({
    says: `${says} (${transport})`,
    judge: (medians: Medians) => {
      const value = judge((metric) => medians.of(product(transport).name, metric));
      return value === undefined ? undefined : { value, isMet: value <= atMost };
    },
  }));
}

const quotient = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a / b;

/** A million orders that wait, and the daily business on top of them. */
export const STANDING_LOAD: Workload = {
  id: 'B5',
  title: 'standing load: 1 000 000 pending orders within the horizon; then 500 orders/s for 60 s on top',
  contestants: TRANSPORTS.map(product),
  maxRounds: 1,
  metrics: [
    { key: 'firstPerSecond', title: 'first 5 % placed/s', better: 'higher' },
    { key: 'lastPerSecond', title: 'last 5 %', better: 'higher' },
    { key: 'serviceMiB', title: 'service MiB', better: 'lower' },
    { key: 'timeoutBytes', title: 'timeout B', better: 'lower' },
    { key: 'diskBytes', title: 'all tables B', better: 'lower' },
    { key: 'brokerMemoryBytes', title: 'broker memory B', better: 'lower' },
    { key: 'brokerDiskBytes', title: 'broker disk B', better: 'lower' },
    { key: 'p50Ms', title: 'p50 ms', better: 'lower' },
    { key: 'p99Ms', title: 'p99 ms', better: 'lower' },
  ],
  targets: [
    ...target('first ÷ last placing rate ≤ 1.2', (of) => quotient(of('firstPerSecond'), of('lastPerSecond')), 1.2),
    ...target('service memory ≤ 200 MiB', (of) => of('serviceMiB'), 200),
    ...target('disk ≤ 1 500 B per pending order', (of) => of('diskBytes'), 1_500),
    ...target('broker memory ≤ 1 000 B per pending order', (of) => of('brokerMemoryBytes'), 1_000),
    ...target('p99 on top of it ≤ 100 ms', (of) => of('p99Ms'), 100),
  ],
};
