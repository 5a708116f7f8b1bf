import { ConsoleLogger, type INestApplication, Module, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Inventory, Orders, OrderTimeoutModule, type OrderTimeoutOptions } from '../../../src';
import { TimeoutObservers } from '../../../src/public/timeouts';
import { type NewOrder } from '../../../src';
import { type TestDatabase } from '../../support/database';
import { Recorder, untilServed } from '../../support/engine';
import { type TestVhost } from '../../support/rabbit-vhost';

/** An application that imports the module and has listeners. */
export type ListeningHost = Awaited<ReturnType<typeof startHost>>;

let counter = 0;

export function anOrder(overrides: Partial<NewOrder> = {}): NewOrder {
  return {
    id: `heard-${++counter}`,
    amount: 1_999,
    currency: 'EUR',
    paymentWindowMs: 3_600_000,
    lines: [{ sku: 'apple', quantity: 1, unitAmount: 1_999 }],
    ...overrides,
  };
}

export async function startHost(
  database: TestDatabase,
  vhost: TestVhost,
  providers: Provider[],
  options: Partial<OrderTimeoutOptions> = {},
) {
  const settled = new Recorder();
  const imports = [
    OrderTimeoutModule.forRoot({
      dataSource: database.dataSource,
      rabbit: { urls: [vhost.url], queueType: 'classic' },
      transport: 'none',
      ladder: { base: 8 },
      horizonMs: 60_000,
      sweep: { intervalMs: 200 },
      orders: { unknownProviders: 'allow', reminderOffsetsMs: [], latePayment: 'keep' },
      shutdownTimeoutMs: 3_000,
      ...options,
    }),
  ];
  @Module({ imports, providers })
  class Host {}
  const logger = process.env.TEST_LOGS ? new ConsoleLogger() : (false as const);
  const app: INestApplication = await NestFactory.create(Host, { logger, abortOnError: false });
  app.get(TimeoutObservers).add({ settled: (_kind, rows, nowMs) => settled.add(rows, nowMs) });
  try {
    await app.init();
  } catch (error) {
    await app.close();
    throw error;
  }
  await app.get(Inventory).setStock(database.dataSource.manager, 'apple', 100_000);
  const orders = app.get(Orders);
  return {
    app,
    orders,
    settled,
    place: async (overrides: Partial<NewOrder> = {}): Promise<string> => {
      const { id } = anOrder(overrides);
      const placed = await untilServed(() => orders.place({ ...anOrder(overrides), id }));
      expect(placed.outcome).toBe('placed');
      return id;
    },
    pay: (orderId: string, amount = 1_999) =>
      untilServed(() =>
        orders.markPaid({ orderId, provider: 'shop', reference: `pay-${orderId}`, amount, currency: 'EUR' }),
      ),
    statusOf: async (id: string) => (await orders.get(id))?.status,
    /** Kinds and states of the timeouts that are deliveries. */
    deliveries: () =>
      database.dataSource.query<{ kind: string; key: string; state: string; last_error: string | null }[]>(
        `SELECT kind, key, state, last_error FROM order_timeout.timeout
          WHERE kind LIKE 'order-listener.%' OR kind LIKE 'order-webhook.%' ORDER BY kind, key`,
      ),
  };
}
