import { randomBytes } from 'node:crypto';
import { anOrder, openService, type RunningService } from '../e2e/running-service';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { stretched } from '../support/machine-load';

const ROLE = `shop_${randomBytes(6).toString('hex')}`;

/** What a person does to a server that answers all the time. Classic queues count no deliveries. */
describe('the service on a database that refuses its work', () => {
  let database: TestDatabase;
  let service: RunningService;
  const administrate = (...statements: string[]) =>
    statements.reduce<Promise<unknown>>(
      (done, sql) => done.then(() => database.dataSource.query(sql)),
      Promise.resolve(),
    );

  beforeAll(async () => {
    database = await createDatabase();
    await administrate(
      `CREATE ROLE ${ROLE} LOGIN PASSWORD 'old'`,
      `GRANT ALL ON SCHEMA order_timeout, public TO ${ROLE}`,
      `GRANT ALL ON ALL TABLES IN SCHEMA order_timeout TO ${ROLE}`,
      `GRANT ALL ON ALL SEQUENCES IN SCHEMA order_timeout TO ${ROLE}`,
      `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${ROLE}`,
    );
    const url = new URL(database.url);
    Object.assign(url, { username: ROLE, password: 'old' });
    service = await openService({ DATABASE_URL: url.toString() }, database);
    await service.call('put', '/inventory/apple', { onHand: 1_000_000 }).expect(200);
  });
  afterAll(async () => {
    await administrate(`DROP OWNED BY ${ROLE}`).catch(() => undefined);
    await service.close();
  });

  const place = async (count: number, overrides: Record<string, unknown> = {}) => {
    const orders = Array.from({ length: count }, () => anOrder(overrides));
    await Promise.all(orders.map((order) => service.call('post', '/orders', order).expect(201)));
    return orders;
  };
  const pay = (orders: readonly ReturnType<typeof anOrder>[]) => {
    for (const { id, amount, currency } of orders)
      service.command('order.paid', { orderId: id, provider: 'p', reference: id, amount, currency });
  };
  const statuses = async (orders: readonly { id: string }[]) => {
    const answers = await Promise.all(orders.map(({ id }) => service.call('get', `/orders/${id}`)));
    return new Set(answers.map(({ body }) => body.status));
  };

  it('parks no payment while the password is changed and a few sessions are left', async () => {
    const orders = await place(300);
    await administrate(`ALTER ROLE ${ROLE} PASSWORD 'new'`);
    for (let from = 0; from < orders.length; from += 15) {
      pay(orders.slice(from, from + 15));
      await administrate(
        `SELECT pg_terminate_backend(pid) FROM (
           SELECT pid FROM pg_stat_activity WHERE usename = '${ROLE}' ORDER BY pid OFFSET 1) AS others`,
      );
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    await administrate(`ALTER ROLE ${ROLE} PASSWORD 'old'`);
    await until(async () => [...(await statuses(orders))].join() === 'PAID');
    expect(service.parked).toEqual([]);
  });

  it('is not ready while orders are placed and cannot be closed', async () => {
    const due = await place(5, { paymentWindowMs: stretched(2_000) });
    await administrate(`REVOKE UPDATE ON order_timeout.inventory FROM ${ROLE}`);
    await until(async () => (await service.call('get', '/health/ready')).status === 503);
    for (let tries = 0; tries < 16; tries += 1) {
      await place(1, { lines: [] });
      await new Promise((resolve) => setTimeout(resolve, 500));
      await service.call('get', '/health/ready').expect(503);
    }
    expect(await statuses(due)).toEqual(new Set(['PENDING']));
    await administrate(`GRANT UPDATE ON order_timeout.inventory TO ${ROLE}`);
    await until(async () => [...(await statuses(due))].join() === 'CLOSED');
    await until(async () => (await service.call('get', '/health/ready')).status === 200);
  });

  it.each([
    [
      'a right is missing',
      `REVOKE INSERT ON order_timeout.order_history FROM ${ROLE}`,
      `GRANT INSERT ON order_timeout.order_history TO ${ROLE}`,
    ],
    [
      'a table is missing',
      'ALTER TABLE order_timeout.order_history RENAME TO hidden',
      'ALTER TABLE order_timeout.hidden RENAME TO order_history',
    ],
    [
      'the server has no transaction ids left',
      `CREATE FUNCTION public.no_ids() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE
         'database is not accepting commands to avoid wraparound data loss' USING ERRCODE = '54000'; END $$;
       CREATE TRIGGER no_ids BEFORE INSERT ON order_timeout.order_history EXECUTE FUNCTION public.no_ids()`,
      'DROP TRIGGER no_ids ON order_timeout.order_history',
    ],
    [
      'the table that a trigger of somebody else writes to lacks the partition of this month',
      `CREATE TABLE public.audit (at timestamptz, id text) PARTITION BY RANGE (at);
       GRANT ALL ON public.audit TO ${ROLE};
       CREATE FUNCTION public.write_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO public.audit VALUES (now(), NEW.id); RETURN NULL; END $$;
       CREATE TRIGGER audit AFTER INSERT OR UPDATE ON order_timeout.orders
         FOR EACH ROW EXECUTE FUNCTION public.write_audit()`,
      `CREATE TABLE public.audit_now PARTITION OF public.audit DEFAULT`,
      // A trigger may refuse one row only.
      200,
    ],
  ])('parks and closes nothing while %s, and goes on afterward', async (_, take, giveBack, ready = 503) => {
    const [paid, due] = [await place(20), await place(20, { paymentWindowMs: stretched(3_000) })];
    await administrate(take);
    pay(paid);
    const { status, headers, body } = await service.call('post', '/orders', anOrder());
    expect({ status, code: body.code, retryAfter: headers['retry-after'] }).toEqual({
      status: 503,
      code: 'DATABASE_UNAVAILABLE',
      retryAfter: '5',
    });
    // Longer than two tries of a command and of a timeout. Work that does not need the table is committed meanwhile.
    for (let tries = 0; tries < 20; tries += 1) {
      await service.call('post', '/orders', anOrder()).expect(503);
      await new Promise((resolve) => setTimeout(resolve, 500));
      await service.call('get', '/health/ready').expect(ready);
    }
    expect([await statuses(paid), await statuses(due)]).toEqual([new Set(['PENDING']), new Set(['PENDING'])]);
    await administrate(giveBack);
    await until(async () => [...(await statuses(paid)), ...(await statuses(due))].join() === 'PAID,CLOSED');
    expect(service.parked).toEqual([]);
    const [row] = await database.dataSource.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM order_timeout.timeout WHERE state = 'parked'`,
    );
    expect(row).toEqual({ count: 0 });
    await until(async () => (await service.call('get', '/health/ready')).status === 200);
  });
});
