import { type NestExpressApplication } from '@nestjs/platform-express';
import { loadConfig } from '../../src/service/config';
import { createService, startService } from '../../src/service/create-service';
import { anOrder, callerOf, environmentOf } from '../e2e/running-service';
import { createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

/** The long form is STRESS_CYCLES=50: 10 × 50 starts and stops, some minutes. */
const ROUNDS = 10;
const CYCLES = Number(process.env.STRESS_CYCLES ?? 6);
/** Services that run side by side on the same tables and queues, and stop in the middle of each other's work. */
const AT_ONCE = 3;
const ORDERS = 8;
/** What keeps a process alive. */
const WATCHED = new Set(['TCPSocketWrap', 'TCPServerWrap', 'ProcessWrap', 'Timeout', 'GetAddrInfoReqWrap']);
const SIGNALS = ['SIGTERM', 'SIGINT', 'exit', 'beforeExit', 'uncaughtException', 'unhandledRejection', 'warning'];

// A service takes seconds to start, and many times that beside other tests on a small machine.
describe('starting and stopping again and again', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  const placed: string[] = [];
  const warnings: string[] = [];
  const keepWarning = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    process.on('warning', keepWarning);
    await cycle(async (app) => {
      await callerOf(app)('put', '/inventory/apple', { onHand: 1_000_000 }).expect(200);
    });
  });
  afterAll(async () => {
    process.off('warning', keepWarning);
    await database.drop();
    await vhost.drop();
  });

  const environment = () => ({
    ...environmentOf(database.url, vhost.url),
    ...{ DELAY_TRANSPORT: 'none', SWEEP_INTERVAL_MS: '100', SWEEP_MARGIN_MS: '0', DATABASE_POOL_SIZE: '4' },
    ...{ REMINDER_OFFSETS_MS: '100' },
  });

  /** One life of a service; stops without waiting for what it has begun. */
  async function cycle(live: (app: NestExpressApplication) => Promise<void>): Promise<void> {
    const config = loadConfig(environment());
    const app = await createService(config);
    await startService(app, config.http);
    try {
      await live(app);
    } finally {
      await app.close();
      app.getHttpServer().closeAllConnections();
    }
  }

  async function work(app: NestExpressApplication): Promise<void> {
    const call = callerOf(app);
    const orders = Array.from({ length: ORDERS }, (_, index) => anOrder({ paymentWindowMs: index * 40 }));
    for (const order of orders) {
      await call('post', '/orders', order).expect(201);
      placed.push(order.id);
    }
  }

  function listeners(): Record<string, number> {
    return Object.fromEntries(SIGNALS.map((name) => [name, process.listenerCount(name)]));
  }

  async function openConnections(): Promise<number> {
    const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name LIKE 'nestjs-order-timeout%'`;
    const [row] = await database.dataSource.query<{ count: number }[]>(sql);
    return row?.count ?? -1;
  }

  const alive = (): string[] => process.getActiveResourcesInfo().filter((resource) => WATCHED.has(resource));

  it(`leaves nothing open after ${ROUNDS} × ${CYCLES} times, and loses no order`, async () => {
    const before = { listeners: listeners(), alive: alive().length };
    for (let round = 0; round < ROUNDS; round++) {
      for (let begun = 0; begun < CYCLES; begun += AT_ONCE) {
        const count = Math.min(AT_ONCE, CYCLES - begun);
        await Promise.all(Array.from({ length: count }, () => cycle(work)));
      }
      // The servers and the event loop learn of the end of a connection a moment later.
      await until(async () => (await openConnections()) === 0);
      await until(() => alive().length <= before.alive).catch(() => undefined);
      expect([round, alive().slice(before.alive)]).toEqual([round, []]);
      expect(listeners()).toEqual(before.listeners);
    }
    await cycle(async () => until(async () => (await unfinished()) === 0, 20_000));
    await expectAllClosedOnce();
    await until(async () => (await vhost.manage<unknown[]>('GET', `/vhosts/${vhost.name}/connections`)).length === 0);
    expect(warnings).toEqual([]);
    if (process.env.TEST_FIGURES) process.stderr.write(`${ROUNDS * CYCLES} lives, ${placed.length} orders\n`);
  }, 900_000);

  async function unfinished(): Promise<number> {
    const sql = `SELECT count(*)::int AS count FROM order_timeout.orders WHERE status <> 'CLOSED'`;
    const [row] = await database.dataSource.query<{ count: number }[]>(sql);
    return row?.count ?? -1;
  }

  async function expectAllClosedOnce(): Promise<void> {
    const sql = `SELECT o.id, count(*) FILTER (WHERE h.to_status = 'CLOSED')::int AS closings
                   FROM order_timeout.orders o JOIN order_timeout.order_history h ON h.order_id = o.id GROUP BY o.id`;
    const rows = await database.dataSource.query<{ id: string; closings: number }[]>(sql);
    expect(rows.filter(({ closings }) => closings !== 1)).toEqual([]);
    expect(rows.map(({ id }) => id).sort()).toEqual([...placed].sort());
    expect(await database.dataSource.query('SELECT on_hand, reserved FROM order_timeout.inventory')).toEqual([
      { on_hand: 1_000_000, reserved: 0 },
    ]);
  }
});
