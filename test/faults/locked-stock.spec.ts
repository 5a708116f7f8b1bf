import { type QueryRunner } from 'typeorm';
import { until } from '../support/engine';
import { anOrder, openService, type RunningService } from '../e2e/running-service';
import { stretched } from '../support/machine-load';

const SCHEMA = 'order_timeout';
/** Time enough to place them all on a busy machine. */
const WINDOW_MS = 8_000;
/** From the deadline on; with what is before it, twice as long as a statement may take. */
const LOCKED_MS = 8_000;

/** Somebody's report, or a forgotten psql, holds one row of stock over the deadlines. */
describe('a row of stock that another session holds', () => {
  let service: RunningService;
  let holder: QueryRunner;

  beforeAll(async () => {
    service = await openService({ MIN_PAYMENT_WINDOW_MS: '1' });
    for (const sku of ['apple', 'locked']) await service.call('put', `/inventory/${sku}`, { onHand: 1_000 });
    holder = service.database.dataSource.createQueryRunner();
  });

  afterAll(async () => {
    await holder.release();
    await service.close();
  });

  const place = async (sku: string, count: number, atMs: number): Promise<string[]> => {
    const lines = [{ sku, quantity: 1, unitAmount: 1_999 }];
    const deadline = { paymentWindowMs: undefined, expiresAt: new Date(atMs).toISOString() };
    const orders = Array.from({ length: count }, () => anOrder({ ...deadline, lines }));
    await Promise.all(orders.map((order) => service.call('post', '/orders', order).expect(201)));
    return orders.map(({ id }) => id);
  };
  const rowsOf = (ids: readonly string[]) =>
    service.database.dataSource.query<{ status: string; late_ms: number | null }[]>(
      `SELECT status, (extract(epoch FROM closed_at - expires_at) * 1000)::float8 AS late_ms
         FROM ${SCHEMA}.orders WHERE id = ANY($1::text[])`,
      [ids],
    );
  const are = async (ids: readonly string[], status: string): Promise<boolean> =>
    (await rowsOf(ids)).every((row) => row.status === status);
  const moneyFor = (orderId: string) => ({ provider: 'p', reference: orderId, amount: 1_999, currency: 'EUR' });

  it('loses no payment, parks nothing, and keeps nobody else’s order waiting', async () => {
    const deadlineMs = Date.now() + WINDOW_MS;
    const unpaid = await place('locked', 60, deadlineMs);
    const others = await place('apple', 20, deadlineMs);
    const [byCommand = '', byRequest = ''] = await place('locked', 2, deadlineMs);
    const [cancelled = ''] = await place('locked', 1, deadlineMs + 600_000);
    const [paidMeanwhile = ''] = await place('apple', 1, deadlineMs);
    await holder.startTransaction();
    await holder.query(`SELECT 1 FROM ${SCHEMA}.inventory WHERE sku = 'locked' FOR UPDATE`);
    service.command('order.cancelled', { orderId: cancelled });
    service.command('order.paid', { orderId: byCommand, ...moneyFor(byCommand) });
    service.command('order.paid', { orderId: paidMeanwhile, ...moneyFor(paidMeanwhile) });
    const answer = await service.call('post', `/orders/${byRequest}/paid`, moneyFor(byRequest)).expect(200);
    expect(answer.body).toMatchObject({ outcome: 'booked', order: { status: 'PENDING' } });

    await until(() => are([paidMeanwhile], 'PAID'));
    await until(() => are(others, 'CLOSED'), WINDOW_MS + LOCKED_MS);
    expect(Math.max(...(await rowsOf(others)).map(({ late_ms }) => late_ms ?? Infinity))).toBeLessThan(
      stretched(2_000),
    );
    const refused = await service.call('post', `/orders/${unpaid[0]}/cancel`, {});
    expect(refused).toMatchObject({ status: 503, body: { code: 'BUSY' }, headers: { 'retry-after': '1' } });
    await until(() => Date.now() > deadlineMs + LOCKED_MS, WINDOW_MS + LOCKED_MS);
    expect(await are([...unpaid, byCommand, byRequest, cancelled], 'PENDING')).toBe(true);
    await holder.commitTransaction();

    await until(() => are([byCommand, byRequest], 'PAID'), 5_000);
    await until(() => are(unpaid, 'CLOSED'), 5_000);
    await until(() => are([cancelled], 'CANCELLED'), 10_000);
    expect(service.parked).toEqual([]);
    expect(await service.database.dataSource.query(`SELECT 1 FROM ${SCHEMA}.timeout`)).toEqual([]);
  });
});
