import { until } from '../support/engine';
import { anOrder, openService, PREFIX, type RunningService } from '../e2e/running-service';

describe('a broker that stalls', () => {
  let service: RunningService;

  beforeAll(async () => {
    const quick = { SWEEP_INTERVAL_MS: '500', SWEEP_MARGIN_MS: '500' };
    service = await openService({ RABBITMQ_QUEUE_TYPE: 'quorum', ...quick });
    await service.call('put', '/inventory/apple', { onHand: 10 }).expect(200);
  });

  afterAll(() => service.close());

  const metric = async (name: string): Promise<number> => {
    const { text } = await service.call('get', '/metrics', undefined, null);
    const line = text.split('\n').find((each) => each.startsWith(`${name}{kind="order.payment"}`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const order = async (): Promise<string> => {
    const { id } = anOrder();
    await service.call('post', '/orders', anOrder({ id, paymentWindowMs: 2_000 })).expect(201);
    await until(async () => (await metric('order_timeout_outbox_rows')) === 0);
    return id;
  };
  /** Asks the database: reading a due order by HTTP would close it. */
  const causeOfClosing = async (id: string): Promise<string | undefined> => {
    let cause: string | undefined;
    await until(async () => {
      const [row] = await service.database.dataSource.query<{ cause: string }[]>(
        `SELECT h.cause FROM order_timeout.orders o JOIN order_timeout.order_history h ON h.order_id = o.id
          WHERE o.id = $1 AND o.status = 'CLOSED' ORDER BY h.version DESC LIMIT 1`,
        [id],
      );
      cause = row?.cause;
      return cause !== undefined;
    });
    return cause;
  };

  /** Where every wait in the ladder ends. */
  const deleteDelivery = async (): Promise<void> => {
    const { vhost } = service;
    const exchanges = await vhost.manage<{ name: string }[]>('GET', `/exchanges/${vhost.name}`);
    const found = exchanges.filter((each) => each.name.startsWith(PREFIX) && each.name.endsWith('.delivery'));
    expect(found).toHaveLength(1);
    await vhost.manage('DELETE', `/exchanges/${vhost.name}/${found[0]?.name}`);
  };

  it('costs no order its closing, and shows in a metric', async () => {
    expect(await causeOfClosing(await order())).toBe('message');
    expect(await metric('order_timeout_missed_wake_ups_total')).toBe(0);

    // At-least-once dead-lettering without its exchange keeps what has expired, and tries again only after 180 s.
    const stalled = await order();
    await deleteDelivery();
    await until(async () => (await metric('order_timeout_overdue_oldest_seconds')) > 0);
    expect(await causeOfClosing(stalled)).toBe('sweep');
    expect(await metric('order_timeout_overdue_oldest_seconds')).toBe(0);
    await until(async () => (await metric('order_timeout_missed_wake_ups_total')) === 1);
    expect((await service.call('get', '/health/ready')).body.status).toBe('ready');
  });
});
