import { PaymentSimulator, SIMULATOR_SECRET } from 'nestjs-order-timeout-payment-simulator';
import { API_KEYS, environmentOf, KEYS } from '../e2e/running-service';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { type ServiceProcess, startServiceProcess } from '../support/service-process';

const ORDERS = 240;
const PORT = 20_000 + (process.pid % 10_000);
const headers = { 'content-type': 'application/json', 'x-api-key': KEYS.all };

describe('a service that is killed in mid-work and started again', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let simulator: PaymentSimulator;
  let service: ServiceProcess | undefined;
  let environment: Record<string, string>;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    simulator = new PaymentSimulator({ name: 'http', secret: SIMULATOR_SECRET });
    const simulatorUrl = await simulator.listen(0);
    environment = {
      ...environmentOf(database.url, vhost.url),
      API_KEYS,
      PORT: String(PORT),
      HTTP_PAYMENT_PROVIDER_URL: simulatorUrl,
      HTTP_PAYMENT_PROVIDER_SECRET: SIMULATOR_SECRET,
    };
    await script(simulatorUrl);
  });

  afterAll(async () => {
    service?.child.kill('SIGKILL');
    await service?.exited;
    await simulator.close();
    await database.drop();
    await vhost.drop();
  });

  /** Every third order has a page open at the provider that nobody pays, every third is paid without the shop knowing. */
  const buyerOf = (index: number): { buyer: string; ms?: number } | undefined =>
    index % 3 === 0 ? undefined : index % 3 === 1 ? { buyer: 'never' } : { buyer: 'pays-after', ms: 400 };

  async function script(url: string): Promise<void> {
    for (let index = 0; index < ORDERS; index++) {
      const buyer = buyerOf(index);
      if (!buyer) continue;
      const payment = { reference: `ref-${index}`, amount: 500, currency: 'EUR', script: buyer };
      const latency = { fault: 'latency', ms: 150 };
      const body = JSON.stringify({ ...payment, faults: [latency] });
      const answer = await fetch(`${url}/script/payments`, { method: 'POST', headers, body });
      expect(answer.status).toBeLessThan(300);
    }
  }

  async function start(): Promise<void> {
    service = startServiceProcess(environment);
    await until(async () => {
      const answer = await fetch(`http://127.0.0.1:${PORT}/health/ready`).catch(() => undefined);
      return answer?.ok ?? false;
    });
  }

  const post = async (path: string, body: object, method = 'POST'): Promise<void> => {
    const answer = await fetch(`http://127.0.0.1:${PORT}${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  };

  const place = (): Promise<void> =>
    post('/orders/bulk', {
      orders: Array.from({ length: ORDERS }, (_, index) => ({
        id: `order-${index}`,
        amount: 500,
        currency: 'EUR',
        paymentWindowMs: 500 + Math.round((5_000 * index) / ORDERS),
        lines: [{ sku: 'apple', quantity: 2, unitAmount: 250 }],
        ...(buyerOf(index) && { attempt: { provider: 'http', reference: `ref-${index}` } }),
      })),
    });

  const count = async (sql: string): Promise<number> => {
    const [row] = await database.dataSource.query<{ n: number }[]>(`SELECT count(*)::int AS n FROM ${sql}`);
    return row?.n ?? -1;
  };

  it('closes and pays every order exactly once, on time, with exact stock', async () => {
    await start();
    await post('/inventory/apple', { onHand: 1_000 }, 'PUT');
    await place();
    await until(async () => (await count(`order_timeout.order_history WHERE to_status = 'CLOSING'`)) > 20, 30_000);
    service?.child.kill('SIGKILL');
    await service?.exited;
    await start();
    await until(async () => (await count(`order_timeout.orders WHERE status IN ('PENDING', 'CLOSING')`)) === 0, 60_000);

    expect(await count(`order_timeout.orders WHERE status = 'CLOSED'`)).toBe((ORDERS * 2) / 3);
    expect(await count(`order_timeout.orders WHERE status = 'PAID'`)).toBe(ORDERS / 3);
    expect(await count(`order_timeout.order_history WHERE to_status IN ('CLOSED', 'PAID')`)).toBe(ORDERS);
    expect(await count(`order_timeout.orders WHERE closed_at < expires_at`)).toBe(0);
    expect(await count(`order_timeout.orders WHERE closed_at > expires_at + interval '40 seconds'`)).toBe(0);
    const stock = await database.dataSource.query<unknown[]>('SELECT on_hand, reserved FROM order_timeout.inventory');
    expect(stock).toEqual([{ on_hand: 1_000 - (2 * ORDERS) / 3, reserved: 0 }]);
    // Nothing stays behind: no timeout but the watch over ended orders, and no message that was not handed over.
    const timeouts = `order_timeout.timeout WHERE kind <> 'order.late-watch'`;
    await until(async () => (await count(timeouts)) + (await count('order_timeout.outbox')) === 0, 30_000);
  });
});
