// First: what is loaded before cannot be instrumented.
import { tracing } from './tracing';
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Inventory, Orders } from 'nestjs-order-timeout';
import { TimeoutEngine } from 'nestjs-order-timeout/timeouts';
import { DataSource } from 'typeorm';
import { type Checkout } from './checkout.controller';
import { ShopModule } from './shop.module';

const LOOK_MS = 200;
const LIMIT_MS = 60_000;
const ENDED: readonly string[] = ['CLOSED', 'PAID'];
const { OT_JAEGER_PORT: jaegerPort = '16686' } = process.env;

function readWindow(): number {
  const { values } = parseArgs({ options: { seconds: { type: 'string', default: '10' } } });
  const seconds = Number(values.seconds);
  if (!(seconds >= 1 && seconds <= 3_600)) throw new Error(`--seconds must be 1 to 3600, and not ${values.seconds}`);
  return seconds * 1_000;
}

async function checkOut(app: INestApplication): Promise<Checkout> {
  await app.get(Inventory).setStock(app.get(DataSource).manager, 'apple', 10);
  const response = await fetch(`${await app.getUrl()}/checkout`, { method: 'POST' });
  if (!response.ok) throw new Error(`POST /checkout: ${response.status} ${await response.text()}`);
  return (await response.json()) as Checkout;
}

async function until<T>(what: string, limitMs: number, ask: () => Promise<T | undefined>): Promise<T> {
  for (const endsAt = performance.now() + limitMs; performance.now() < endsAt; await sleep(LOOK_MS)) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
  throw new Error(`${what} did not happen within ${limitMs / 1_000} s`);
}

/** How the order ended, once everybody who listens knows. */
async function endOf(app: INestApplication, orderId: string): Promise<string | undefined> {
  const last = (await app.get(Orders).history(orderId)).at(-1);
  const pending = `SELECT FROM tracing_example.timeout WHERE kind = 'order-listener.order-watch'`;
  const isHeard = (await app.get(DataSource).query<unknown[]>(pending)).length === 0;
  return isHeard && last && ENDED.includes(last.to) ? `${last.to} by ${last.cause}` : undefined;
}

async function sendSpans(): Promise<void> {
  await tracing.shutdown().catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the spans could not be sent: ${why}. Start Jaeger, or set OTEL_EXPORTER_OTLP_ENDPOINT`);
  });
}

async function run(): Promise<void> {
  const windowMs = readWindow();
  const app = await NestFactory.create(ShopModule.closingAfter(windowMs), { logger: ['error', 'warn'] });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  try {
    const engine = app.get(TimeoutEngine);
    await until('the start of the message path', LIMIT_MS, async () => engine.isMessagePathUp || undefined);
    const { orderId, traceId } = await checkOut(app);
    console.log(`${orderId}: placed, and due in ${windowMs / 1_000} s`);
    const end = await until(`the end of ${orderId}`, windowMs + LIMIT_MS, () => endOf(app, orderId));
    console.log(`${orderId}: ${end}`);
    console.log(`http://127.0.0.1:${jaegerPort}/trace/${traceId}`);
  } finally {
    await app.close();
    await sendSpans();
  }
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
