import { setTimeout } from 'node:timers/promises';
import { type INestApplication } from '@nestjs/common';
import { connect } from 'amqplib';
import { Orders } from 'nestjs-order-timeout';
import { TimeoutScheduler } from 'nestjs-order-timeout/timeouts';
import { DataSource } from 'typeorm';
import { Basket } from './basket.js';
import { type Answer, type Call, shopClient } from './shop-client.js';

const WINDOW_MS = 1_500;
const PATIENCE_MS = 30_000;

const order = (id: string, paymentWindowMs = 600_000) => ({
  id,
  amount: 500,
  currency: 'EUR',
  paymentWindowMs,
  lines: [{ sku: 'apple', quantity: 1, unitAmount: 500 }],
});

/** What happened, by what was tried. The driver compares it with what must happen. */
export async function tryOut(app: INestApplication, base: string): Promise<Record<string, unknown>> {
  const call = shopClient(base);
  const brief = async (...given: Parameters<Call>): Promise<string> => summary(await call(...given));
  const ready = await until(async () => {
    const answer = await brief('GET', '/health/ready');
    return answer.endsWith(' ready') ? answer : undefined;
  });
  const stock = await brief('PUT', '/shop/inventory/apple', { onHand: 10 });
  const key = { 'idempotency-key': 'k-1' };
  const placed = await brief('POST', '/shop/orders', order('timed', WINDOW_MS), key);
  const replayed = await brief('POST', '/shop/orders', order('timed', WINDOW_MS), key);
  return {
    ready,
    stock,
    placed,
    replayed,
    invalid: await brief('POST', '/shop/orders', { ...order('bad'), amount: -1 }),
    unknown: await brief('GET', '/shop/orders/nobody'),
    withoutKey: await brief('GET', '/shop/orders/timed', undefined, { 'x-api-key': '' }),
    metrics: (await call('GET', '/metrics')).status,
    transactions: await inTransactions(app),
    notified: await notified(call),
    command: await cancelByCommand(app),
    ownTimeout: await ownTimeout(app),
    closed: await closedAtItsDeadline(app),
  };
}

function summary({ status, type, text }: Answer): string {
  const { code, status: state } = JSON.parse(text) as { code?: string; status?: string | number };
  return [status, type.replace(/;.*/, ''), code ?? state ?? ''].join(' ').trim();
}

/** Orders in the host's own transactions: one is rolled back, and one committed. */
async function inTransactions(app: INestApplication): Promise<unknown> {
  const [dataSource, orders] = [app.get(DataSource), app.get(Orders)];
  const place = (id: string, fails: boolean) =>
    dataSource.transaction(async (tx) => {
      await tx.insert(Basket, { id, pieces: 1 });
      await orders.place(order(id), { tx });
      if (fails) throw new Error('changed my mind');
    });
  await place('rolled-back', true).catch(() => undefined);
  await place('committed', false);
  const baskets = await dataSource.manager.find(Basket);
  return {
    baskets: baskets.map(({ id }) => id),
    orders: [(await orders.get('rolled-back'))?.status ?? 'none', (await orders.get('committed'))?.status ?? 'none'],
  };
}

/** Notifications of a payment: a forged one, and a genuine one. */
async function notified(call: Call): Promise<unknown> {
  await call('POST', '/shop/orders', order('notified'));
  await call('POST', '/shop/orders/notified/attempts', { provider: 'blank-pay', reference: 'n-1' });
  const news = JSON.stringify({ reference: 'n-1', amount: 500 });
  const path = '/shop/payments/blank-pay/notify';
  const forged = await call('POST', path, news);
  const genuine = await call('POST', path, `${news} `);
  const after = await call('GET', '/shop/orders/notified');
  return [`${forged.status} ${forged.text}`, `${genuine.status} ${genuine.text}`, summary(after)];
}

async function cancelByCommand(app: INestApplication): Promise<unknown> {
  await app.get(Orders).place(order('commanded'));
  const connection = await connect(process.env['RABBITMQ_URLS'] ?? '');
  const channel = await connection.createConfirmChannel();
  channel.publish('order-timeout.v1.commands', 'order.cancelled', Buffer.from('{"orderId":"commanded"}'));
  await channel.waitForConfirms();
  await connection.close();
  return until(async () => {
    const status = (await app.get(Orders).get('commanded'))?.status;
    return status === 'PENDING' ? undefined : status;
  });
}

async function ownTimeout(app: INestApplication): Promise<unknown> {
  await app.get(TimeoutScheduler).schedule([{ kind: 'shop.greeting', key: 'hello', afterMs: 200 }]);
  const baskets = app.get(DataSource).getRepository(Basket);
  return (await until(async () => (await baskets.findOneBy({ id: 'hello' })) ?? undefined)).id;
}

/** The order that was placed first, with nothing done to it since. */
async function closedAtItsDeadline(app: INestApplication): Promise<unknown> {
  const orders = app.get(Orders);
  const [last] = await until(async () => {
    const ended = (await orders.history('timed')).filter(({ to }) => to !== 'PENDING');
    return ended.length > 0 ? ended : undefined;
  });
  const expiresAt = (await orders.get('timed'))?.expiresAt;
  return { to: last?.to, cause: last?.cause, lateMs: Number(last?.occurredAt) - Number(expiresAt) };
}

async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await setTimeout(20)) {
    const found = await find();
    if (found !== undefined) return found;
  }
  throw new Error(`not within ${PATIENCE_MS} ms: ${find.toString()}`);
}
