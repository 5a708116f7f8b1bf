import { type DelayTransportSetting } from '../../src';
import { type Contestant, type Medians, type Ring, type Sample, type Target, type Workload } from '../contestant';
import { BenchService } from '../product/bench-service';
import { HttpCaller } from '../product/http-caller';
import { newOrder, SKUS } from '../product/new-orders';
import { openShop, type Shop } from '../product/open-shop';
import { RunBooks } from '../product/run-books';
import { runCallers } from '../product/run-callers';
import { beginStatistics, writeStatistics } from '../product/statement-statistics';
import { placeOne } from '../floors/place-statements';
import { runPgbench } from '../floors/run-pgbench';

const CALLERS = 50;
/** Orders in one transaction, and transactions at a time, where orders are placed in bulk. */
const BULK = 500;
const LANES = 2;
/** Of pgbench: on two cores 10 are as fast, 50 a quarter slower. */
const CLIENTS = 20;
const WINDOW_MS = 1_800_000;

const singlesIn = (ring: Ring): number => (ring.isShort ? 1_000 : 10_000);
const bulkIn = (ring: Ring): number => (ring.isShort ? 5_000 : 50_000);

/** Order, lines, stock, timeout and, with a broker that waits, the wake-up; no reminder, as the floor has none. */
const order = (prefix: string, n: number): ReturnType<typeof newOrder> => ({
  ...newOrder(prefix, n, { paymentWindowMs: WINDOW_MS }),
  reminderOffsetsMs: [],
});

async function runLibrary(ring: Ring, transport: DelayTransportSetting): Promise<Sample> {
  const shop = await openShop(ring, transport);
  const books = await RunBooks.open(ring);
  try {
    await beginStatistics(ring, books);
    const perSecond = singlesIn(ring) / (await placeSingles(shop, singlesIn(ring)));
    await writeStatistics(ring, books, `B1-single-${transport}`);
    await books.checkpoint();
    await beginStatistics(ring, books);
    const bulkPerSecond = bulkIn(ring) / (await placeBulk(shop, bulkIn(ring)));
    await writeStatistics(ring, books, `B1-bulk-${transport}`);
    await checkPlaced(books, singlesIn(ring) + bulkIn(ring));
    return { perSecond, bulkPerSecond };
  } finally {
    await shop.close();
    await books.close();
  }
}

async function placeSingles(shop: Shop, count: number): Promise<number> {
  await runCallers(CALLERS, CALLERS, (n) => shop.place([order('warm', n)]));
  return runCallers(CALLERS, count, (n) => shop.place([order('one', n)]));
}

function placeBulk(shop: Shop, count: number): Promise<number> {
  return runCallers(LANES, count / BULK, (n) =>
    shop.place(Array.from({ length: BULK }, (_, index) => order('bulk', n * BULK + index))),
  );
}

async function checkPlaced(books: RunBooks, expected: number): Promise<void> {
  const [row] = await books.query<{ orders: number; timeouts: number; lines: number }>(
    `SELECT (SELECT count(*)::int FROM order_timeout.orders WHERE id NOT LIKE 'warm-%') AS orders,
            (SELECT count(*)::int FROM order_timeout.timeout WHERE key NOT LIKE 'warm-%') AS timeouts,
            (SELECT count(*)::int FROM order_timeout.reservation WHERE order_id NOT LIKE 'warm-%') AS lines`,
  );
  if (row?.orders !== expected || row.timeouts !== expected || row.lines !== expected * 2) {
    throw new Error(`of ${expected} orders there are ${JSON.stringify(row)}`);
  }
}

async function runHttp(ring: Ring, transport: DelayTransportSetting): Promise<Sample> {
  const shop = await openShop(ring, transport);
  await shop.close();
  const books = await RunBooks.open(ring);
  const environment = { RATE_LIMIT_PER_SECOND: '0', REMINDER_OFFSETS_MS: '' };
  const service = await BenchService.open(ring, { transport, environment, name: `B1-http-${transport}` });
  const caller = new HttpCaller(service.url, { 'x-api-key': service.apiKey }, CALLERS);
  try {
    await runCallers(CALLERS, CALLERS, (n) => caller.call('POST', '/orders', order('warm', n)));
    const count = singlesIn(ring);
    const seconds = await runCallers(CALLERS, count, (n) => caller.call('POST', '/orders', order('one', n)));
    await checkPlaced(books, count);
    return { perSecond: count / seconds };
  } finally {
    caller.close();
    await service.stop();
    await books.close();
  }
}

/** The same rows, by somebody who has nothing to decide. */
async function runFloor(ring: Ring): Promise<Sample> {
  const shop = await openShop(ring, 'none');
  await shop.close();
  const count = singlesIn(ring);
  const sku = (number: string): string => `'sku-' || lpad((${number})::text, 4, '0')`;
  const perSecond = await runPgbench(ring, {
    script: [
      '\\set number :client_id * :each + :n',
      `\\set first random(0, ${SKUS - 1})`,
      `\\set second (:first + random(1, ${SKUS - 1})) % ${SKUS}`,
      ...placeOne(`'one-' || lpad(:number::text, 8, '0')`, sku(':first'), sku(':second')),
    ],
    clients: CLIENTS,
    transactions: count / CLIENTS,
    variables: { each: count / CLIENTS },
  });
  const books = await RunBooks.open(ring);
  try {
    await checkPlaced(books, count);
  } finally {
    await books.close();
  }
  return { perSecond };
}

const FLOOR = `pgbench, one order a transaction, prepared, ${CLIENTS} clients`;

const library = (transport: DelayTransportSetting): Contestant => ({
  name: `product, ${transport}`,
  role: 'product',
  run: (ring) => runLibrary(ring, transport),
});

function target(transport: DelayTransportSetting, metric: 'perSecond' | 'bulkPerSecond', atLeast: number): Target {
  return {
    says: `${metric === 'perSecond' ? 'one at a time' : 'bulk'} (${transport}) ≥ ${atLeast} × pgbench one at a time`,
    judge: (medians: Medians) => {
      const mine = medians.of(`product, ${transport}`, metric);
      const floor = medians.of(FLOOR, 'perSecond');
      if (mine === undefined || floor === undefined) return undefined;
      return { value: mine / floor, isMet: mine / floor >= atLeast };
    },
  };
}

/** Orders placed and scheduled durably: order, 2 lines, stock, timeout in one transaction. */
export const PLACE: Workload = {
  id: 'B1',
  title: `place: order, 2 lines, reservation and timeout in one transaction; ${CALLERS} callers, or ${BULK} a transaction`,
  contestants: [
    library('ladder'),
    library('none'),
    { name: 'product over HTTP, ladder', role: 'product', run: (ring) => runHttp(ring, 'ladder') },
    { name: FLOOR, role: 'floor', run: runFloor },
  ],
  metrics: [
    { key: 'perSecond', title: 'one at a time/s', better: 'higher' },
    { key: 'bulkPerSecond', title: 'bulk/s', better: 'higher', hasRatio: false },
  ],
  targets: (['ladder', 'none'] as const).flatMap((transport) => [
    target(transport, 'perSecond', 0.6),
    target(transport, 'bulkPerSecond', 5),
  ]),
};
