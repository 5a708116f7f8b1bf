import { until } from '../support/engine';
import { anOrder, KEYS, openService, type RunningService } from './running-service';

describe('a timeout that was given up', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
    await service.call('put', '/inventory/apple', { onHand: 100 });
  });

  afterAll(() => service.close());

  const isParked = (id: string): Promise<boolean> =>
    service.database.dataSource
      .query<unknown[]>(`SELECT 1 FROM order_timeout.timeout WHERE key = $1 AND state = 'parked'`, [id])
      .then((rows) => rows.length === 1);

  /** An order whose provider nobody has configured; its attempts are cut short, as the back-off takes minutes. */
  async function park(): Promise<string> {
    const order = anOrder({ paymentWindowMs: 1, attempt: { provider: 'nobody', reference: `ref-${Math.random()}` } });
    await service.call('post', '/orders', order).expect(201);
    const attempts = `SELECT attempts FROM order_timeout.timeout WHERE key = $1`;
    await until(async () => {
      const [row] = await service.database.dataSource.query<{ attempts: number }[]>(attempts, [order.id]);
      return (row?.attempts ?? 0) > 0;
    });
    await service.database.dataSource.query(
      `UPDATE order_timeout.timeout SET attempts = 4, next_attempt_at = now() - interval '10 seconds' WHERE key = $1`,
      [order.id],
    );
    await service.call('get', `/orders/${order.id}`);
    await until(() => isParked(order.id), 40_000);
    return order.id;
  }

  it('is listed with its reason, counted, replayed and discarded by an operator', async () => {
    const key = await park();
    const { body } = await service.call('get', '/timeouts/parked').expect(200);
    expect(body).toMatchObject([{ kind: 'order.payment', key, attempts: 5, state: 'parked' }]);
    expect(JSON.stringify(body)).toContain('no payment provider \\"nobody\\" is configured');
    expect((await service.call('get', '/metrics')).text).toContain('order_timeout_parked{kind="order.payment"} 1');

    const timeouts = [{ kind: 'order.payment', key }];
    await service.call('post', '/timeouts/parked/replay', { timeouts }).expect(200, { count: 1 });
    await until(async () => !(await isParked(key)));
    await service.call('post', '/timeouts/parked/discard', { timeouts }).expect(200, { count: 0 });
  });

  it('is the business of those with the scope admin', async () => {
    await service.call('get', '/timeouts/parked', undefined, KEYS.reader).expect(403);
    await service.call('post', '/timeouts/parked/replay', { timeouts: [] }).expect(400, /at least one/);
  });
});

describe('everything that is pending', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });

  afterAll(() => service.close());

  it('is published again when somebody with the scope admin asks for it', async () => {
    await service.call('put', '/inventory/apple', { onHand: 100 });
    await service.call('post', '/orders', anOrder({ paymentWindowMs: 50_000 })).expect(201);
    await service.call('post', '/timeouts/republish', undefined, KEYS.reader).expect(403);
    await service.call('post', '/timeouts/republish').expect(202, { outcome: 'requested' });
    await until(async () => {
      const [row] = await service.database.dataSource.query<{ value: string }[]>(
        `SELECT value FROM order_timeout.engine_setting WHERE name = 'republication'`,
      );
      const job = JSON.parse(row?.value ?? '{}') as { isRunning?: boolean; rows?: number };
      return job.isRunning === false && (job.rows ?? 0) > 0;
    });
  });
});
