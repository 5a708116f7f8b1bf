import { type QueryRunner } from 'typeorm';
import { until } from '../support/engine';
import { anOrder, openService, type RunningService } from '../e2e/running-service';
import { stretched } from '../support/machine-load';

const SCHEMA = 'order_timeout';
const WINDOW_MS = 5_000;
const LOCKED_MS = 17_000;
/** Between two orders that need the locked SKU: a third of what a busy shop sends. */
const PAUSE_MS = 60;

/** Orders keep coming for a SKU that another session has locked, each with a SKU that sorts before it. */
describe('orders for a locked SKU and another one', () => {
  let service: RunningService;
  let holder: QueryRunner;

  beforeAll(async () => {
    service = await openService({ MIN_PAYMENT_WINDOW_MS: '1' });
    for (const sku of ['apple', 'locked']) await service.call('put', `/inventory/${sku}`, { onHand: 10_000 });
    holder = service.database.dataSource.createQueryRunner();
  });

  afterAll(async () => {
    await holder.release();
    await service.close();
  });

  const orderOf = (skus: readonly string[], deadlineMs: number): object =>
    anOrder({
      ...{ paymentWindowMs: undefined, expiresAt: new Date(deadlineMs).toISOString(), amount: 999 * skus.length },
      lines: skus.map((sku) => ({ sku, quantity: 1, unitAmount: 999 })),
    });

  /** Places orders until `endMs` without waiting for the answers. Returns their HTTP statuses. */
  async function traffic(endMs: number): Promise<number[]> {
    const answers: Promise<number>[] = [];
    while (Date.now() < endMs) {
      const order = orderOf(['apple', 'locked'], Date.now() + 600_000);
      answers.push(Promise.resolve(service.call('post', '/orders', order)).then(({ status }) => status));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return Promise.all(answers);
  }

  it('do not delay orders that need only the other one', async () => {
    const beganAt = Date.now();
    const due = Array.from({ length: 30 }, (_, index) => ({
      ...orderOf(['apple'], beganAt + WINDOW_MS + index * 300),
    }));
    await Promise.all(due.map((order) => service.call('post', '/orders', order).expect(201)));
    await holder.startTransaction();
    await holder.query(`SELECT 1 FROM ${SCHEMA}.inventory WHERE sku = 'locked' FOR UPDATE`);
    const answers = traffic(beganAt + LOCKED_MS);
    const closed = () =>
      service.database.dataSource.query<{ late_ms: number }[]>(
        `SELECT (extract(epoch FROM closed_at - expires_at) * 1000)::float8 AS late_ms
           FROM ${SCHEMA}.orders WHERE status = 'CLOSED'`,
      );
    await until(() => Date.now() > beganAt + LOCKED_MS, LOCKED_MS + 5_000);
    const late = (await closed()).map(({ late_ms }) => Math.round(late_ms));
    await holder.rollbackTransaction();
    expect(new Set(await answers)).toEqual(new Set([201, 503]));
    expect(late).toHaveLength(due.length);
    expect(Math.max(...late)).toBeLessThan(stretched(3_000));
  });
});
