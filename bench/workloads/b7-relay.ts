import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelModel, connect } from 'amqplib';
import { type Ring, type Sample, type Workload } from '../contestant';
import { BenchService } from '../product/bench-service';
import { openShop } from '../product/open-shop';
import { RunBooks } from '../product/run-books';
import { beginStatistics, writeStatistics } from '../product/statement-statistics';

const messagesIn = (ring: Ring): number => (ring.isShort ? 5_000 : 50_000);
/** The product's own window of unconfirmed messages. */
const WINDOW = 500;
const EXCHANGE = 'order-timeout.v1.events';
const QUEUE = 'bench.events';
const ROUTING_KEY = 'order.closed';
/** As large as an `order.closed`. */
const BODY = `{"id": "01968a57-7c1e-7bb4-8d3c-5a1f00c0ffee", "type": "order.closed", "version": 1, "occurredAt":
  "2026-01-01T00:00:00.000Z", "orderId": "shop-00000000", "merchantId": "default", "reason": "expired", "amount": 3000,
  "currency": "CNY", "expiresAt": "2026-01-01T00:00:00.000Z", "closedAt": "2026-01-01T00:00:00.000Z"}`;
const LIMIT_MS = 120_000;
const POLL_MS = 20;

const PRODUCT = 'product';
const FLOOR = `amqplib, ${WINDOW} unconfirmed`;

/** A service with an empty outbox gets all rows at once; from its first claim to the last deletion. */
async function runProduct(ring: Ring): Promise<Sample> {
  const count = messagesIn(ring);
  const shop = await openShop(ring, 'none');
  await shop.close();
  const books = await RunBooks.open(ring);
  const broker = await connect(ring.amqpUrl);
  const service = await BenchService.open(ring, { transport: 'none', name: 'B7' });
  try {
    await bindQueue(broker);
    await beginStatistics(ring, books);
    await books.query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body)
       SELECT gen_random_uuid(), 'event', $1, $2::jsonb FROM generate_series(1, $3)`,
      [ROUTING_KEY, BODY, count],
    );
    await untilClaimed(books);
    const beganAt = performance.now();
    const cpuBefore = service.cpuMs();
    await untilEmpty(ring, books);
    const seconds = (performance.now() - beganAt) / 1_000;
    const cpuMs = service.cpuMs() - cpuBefore;
    await writeStatistics(ring, books, 'B7');
    await checkQueue(broker, count);
    return { perSecond: count / seconds, serviceCpuUs: (cpuMs * 1_000) / count };
  } finally {
    await service.stop();
    await broker.close();
    await books.close();
  }
}

async function bindQueue(broker: ChannelModel): Promise<void> {
  const channel = await broker.createChannel();
  await channel.assertExchange(EXCHANGE, 'topic', { durable: true });
  await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  await channel.bindQueue(QUEUE, EXCHANGE, '#');
  await channel.close();
}

/** At least once is promised: what comes twice is no error, what is missing is one. */
async function checkQueue(broker: ChannelModel, count: number): Promise<void> {
  const channel = await broker.createChannel();
  const { messageCount } = await channel.checkQueue(QUEUE);
  if (messageCount < count) throw new Error(`of ${count} messages only ${messageCount} are in the queue`);
}

/** The relay looks for rows that nobody told it of twice a second; that pause is not what is measured. */
async function untilClaimed(books: RunBooks): Promise<void> {
  const sql = 'SELECT 1 FROM order_timeout.outbox WHERE attempts > 0 LIMIT 1';
  while ((await books.query(sql)).length === 0) await sleep(POLL_MS);
}

async function untilEmpty(ring: Ring, books: RunBooks): Promise<void> {
  const endsAt = performance.now() + LIMIT_MS;
  while ((await books.query('SELECT 1 FROM order_timeout.outbox LIMIT 1')).length > 0) {
    ring.signal.throwIfAborted();
    if (performance.now() > endsAt) throw new Error(`the outbox is not empty after ${LIMIT_MS / 1_000} s`);
    await sleep(POLL_MS);
  }
}

/** The same messages to the same queue, with as many unconfirmed. */
async function runFloor(ring: Ring): Promise<Sample> {
  const count = messagesIn(ring);
  const broker = await connect(ring.amqpUrl);
  try {
    await bindQueue(broker);
    const channel = await broker.createConfirmChannel();
    const body = Buffer.from(BODY);
    const beganAt = performance.now();
    let sent = 0;
    await new Promise<void>((resolve, reject) => {
      let confirmed = 0;
      const send = (): void => {
        const options = {
          persistent: true,
          messageId: `m-${sent}`,
          type: ROUTING_KEY,
          contentType: 'application/json',
        };
        sent += 1;
        channel.publish(EXCHANGE, ROUTING_KEY, body, options, (error: unknown) => {
          if (error) return reject(new Error('a message was not confirmed'));
          confirmed += 1;
          if (sent < count) send();
          else if (confirmed === count) resolve();
        });
      };
      for (let free = Math.min(WINDOW, count); free > 0; free -= 1) send();
    });
    const seconds = (performance.now() - beganAt) / 1_000;
    await checkQueue(broker, count);
    return { perSecond: count / seconds };
  } finally {
    await broker.close();
  }
}

/** Outbox rows to confirmed messages in a quorum queue. */
export const RELAY: Workload = {
  id: 'B7',
  title: 'relay: 50 000 outbox rows to confirmed messages in one quorum queue',
  contestants: [
    { name: PRODUCT, role: 'product', run: runProduct },
    { name: FLOOR, role: 'floor', run: runFloor },
  ],
  metrics: [
    { key: 'perSecond', title: 'messages/s', better: 'higher' },
    { key: 'serviceCpuUs', title: 'service CPU µs/message', better: 'lower', hasRatio: false },
  ],
  targets: [
    {
      says: 'messages/s ≥ 0.5 × amqplib alone',
      judge: (medians) => {
        const mine = medians.of(PRODUCT, 'perSecond');
        const floor = medians.of(FLOOR, 'perSecond');
        if (mine === undefined || floor === undefined) return undefined;
        return { value: mine / floor, isMet: mine / floor >= 0.5 };
      },
    },
  ],
};
