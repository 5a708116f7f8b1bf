import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DelayTransportSetting } from '../../src';
import { SIGNATURE_HEADERS, signHttpRequest } from '../../src/payments/http/http-exchange';
import { type Contestant, type Ring, type Sample, type Workload } from '../contestant';
import { BenchService } from '../product/bench-service';
import { checkClosed } from '../product/check-closed';
import { HttpCaller } from '../product/http-caller';
import { newOrder } from '../product/new-orders';
import { openShop, placeInBulk } from '../product/open-shop';
import { PROVIDER } from '../../test/support/servers/simulator-process';
import { ProviderProcess } from '../product/provider-process';
import { RunBooks } from '../product/run-books';
import { runCallers } from '../product/run-callers';
import { beginStatistics, writeStatistics } from '../product/statement-statistics';

const PREFIX = 'b4';
const BULK = 500;
const AWAY_MS = 20;
/** Calls in flight: what the product's handler asks at once by default. */
const CONCURRENCY = 200;
const CLOSE_LIMIT_MS = 180_000;
const REST_MS = 2_000;
const AMOUNT = 3_000;
const CURRENCY = 'CNY';

const ordersIn = (ring: Ring): number => (ring.isShort ? 500 : 5_000);
const leadMs = (ring: Ring): number => (ring.isShort ? 12_000 : 25_000);
const referenceOf = (n: number): string => `pay-${n}`;
const references = (ring: Ring): string[] => Array.from({ length: ordersIn(ring) }, (_, n) => referenceOf(n));

async function runProduct(ring: Ring, transport: DelayTransportSetting): Promise<Sample> {
  const name = `B4-${transport}`;
  const provider = await ProviderProcess.start(ring);
  const books = await RunBooks.open(ring);
  try {
    await provider.create(references(ring), AMOUNT, CURRENCY);
    await provider.moveAway(AWAY_MS);
    const resilience = { ratePerSecond: 10_000, burst: 10_000, concurrency: CONCURRENCY, queueLimit: 10_000 };
    const environment = {
      PAYMENT_PROVIDERS_FILE: provider.writeConfiguration(resilience),
      // What comes after the closing is not measured.
      LATE_WATCH_OFFSETS_MS: '3600000',
    };
    // Only the service knows the provider.
    const shop = await openShop(ring, transport, { orders: { unknownProviders: 'allow' } });
    const service = await BenchService.open(ring, { transport, environment, name });
    try {
      const dueAtMs = Math.ceil((await books.now()) + leadMs(ring));
      await placeInBulk(shop, attempted(ring, dueAtMs), BULK);
      await shop.close();
      // A close of an attempt that is younger than 5 min is confirmed by a third call; real ones are older.
      await books.query(`UPDATE order_timeout.payment_attempt SET created_at = created_at - interval '10 minutes'`);
      await books.untilHandedOver(leadMs(ring));
      await books.checkpoint();
      const restMs = dueAtMs - (await books.now());
      if (restMs < REST_MS) throw new Error(`placing took until ${Math.round(restMs)} ms before the instant`);
      await beginStatistics(ring, books);
      const cpuBefore = service.cpuMs();
      await sleep(restMs);
      await books.untilNoneIsOpen(CLOSE_LIMIT_MS);
      const cpuMs = service.cpuMs() - cpuBefore;
      await writeStatistics(ring, books, name);
      const closed = await checkClosed(books, PREFIX, ordersIn(ring));
      await checkLedger(provider, ordersIn(ring));
      return {
        perSecond: (closed.count / closed.lastMs) * 1_000,
        p50Ms: closed.p50Ms,
        lastMs: closed.lastMs,
        serviceCpuUs: (cpuMs * 1_000) / closed.count,
      };
    } finally {
      await service.stop();
      await shop.close().catch(() => undefined);
    }
  } finally {
    await provider.stop();
    await books.close();
  }
}

function attempted(ring: Ring, dueAtMs: number): ReturnType<typeof newOrder>[] {
  return references(ring).map((reference, n) => ({
    ...newOrder(PREFIX, n, { expiresAt: new Date(dueAtMs) }),
    attempt: { provider: PROVIDER, reference },
  }));
}

/** @throws Error when an order was closed whose payment is open. */
async function checkLedger(provider: ProviderProcess, expected: number): Promise<void> {
  const closed = await provider.closedCount();
  if (closed !== expected) throw new Error(`the provider has closed ${closed} of ${expected} payments`);
}

/** The two calls that an order needs, signed, over kept connections, and nothing else. */
async function runFloor(ring: Ring): Promise<Sample> {
  const provider = await ProviderProcess.start(ring);
  const caller = new HttpCaller(provider.simulator.url, {}, CONCURRENCY);
  const ask = (method: string, path: string): Promise<string> => {
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const nonce = randomUUID();
    const { timestamp: at, nonce: once, signature } = SIGNATURE_HEADERS;
    const signed = signHttpRequest(provider.simulator.secret, {
      timestamp,
      method,
      path,
      nonce,
      body: Buffer.alloc(0),
    });
    return caller.call(method, path, undefined, { [at]: timestamp, [once]: nonce, [signature]: signed });
  };
  try {
    await provider.create(references(ring), AMOUNT, CURRENCY);
    await provider.moveAway(AWAY_MS);
    const count = ordersIn(ring);
    const seconds = await runCallers(CONCURRENCY, count, async (n) => {
      await ask('GET', `/payments/${referenceOf(n)}`);
      await ask('POST', `/payments/${referenceOf(n)}/close`);
    });
    await checkLedger(provider, count);
    return { perSecond: count / seconds };
  } finally {
    caller.close();
    await provider.stop();
  }
}

const TRANSPORTS = ['ladder', 'none'] as const;
const FLOOR = `query and close over HTTP alone, ${CONCURRENCY} in flight`;

const product = (transport: DelayTransportSetting): Contestant => ({
  name: `product, ${transport}`,
  role: 'product',
  run: (ring) => runProduct(ring, transport),
});

/** Orders with one payment attempt each, due at one instant. */
export const BURST_WITH_PROVIDER: Workload = {
  id: 'B4',
  title: `burst with a provider: 5 000 orders with one attempt each, provider ${AWAY_MS} ms away, rate limit off`,
  contestants: [...TRANSPORTS.map(product), { name: FLOOR, role: 'floor', run: runFloor }],
  metrics: [
    { key: 'perSecond', title: 'orders closed/s', better: 'higher' },
    { key: 'p50Ms', title: 'p50 ms', better: 'lower', hasRatio: false },
    { key: 'lastMs', title: 'last ms', better: 'lower', hasRatio: false },
    { key: 'serviceCpuUs', title: 'service CPU µs/order', better: 'lower', hasRatio: false },
  ],
  targets: TRANSPORTS.map((transport) => ({
    says: `orders/s (${transport}) ≥ 0.6 × the two calls alone`,
    judge: (medians) => {
      const mine = medians.of(product(transport).name, 'perSecond');
      const floor = medians.of(FLOOR, 'perSecond');
      if (mine === undefined || floor === undefined) return undefined;
      return { value: mine / floor, isMet: mine / floor >= 0.6 };
    },
  })),
};
