import { randomUUID } from 'node:crypto';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { areTablesFree } from '../../src/operations/service-state';
import { loadConfig } from '../../src/service/config';
import { createService, startService } from '../../src/service/create-service';
import { TcpProxy } from '../support/servers/tcp-proxy';
import { connectTo, createDatabase, type TestDatabase } from '../support/database';
import { until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import {
  anOrder,
  type Call,
  callerOf,
  environmentOf,
  openService,
  PREFIX,
  type RunningService,
} from './running-service';

describe('health and metrics', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });

  afterAll(() => service.close());

  const get = (path: string): Call => service.call('get', path, undefined, null);

  it('answers without a key', async () => {
    await get('/health/live').expect(200, { status: 'alive' });
    await get('/health/ready').expect(200, {
      status: 'ready',
      engine: 'ready',
      database: 'up',
      broker: 'up',
      messagePath: 'up',
      transport: 'ladder',
    });
  });

  it.each([
    ['orders', 'ACCESS EXCLUSIVE'],
    ['payment_attempt', 'SHARE'],
  ])('is not ready while another session keeps requests from the table %s (%s)', async (table, mode) => {
    const { dataSource } = service.database;
    await dataSource.transaction(async (tx) => {
      await tx.query(`LOCK TABLE order_timeout.${table} IN ${mode} MODE`);
      const { body } = await get('/health/ready').expect(503);
      expect(body).toMatchObject({ status: 'not-ready', engine: 'ready', database: 'down' });
    });
    await get('/health/ready').expect(200);
    await dataSource.transaction(async (tx) => {
      await tx.query(`LOCK TABLE order_timeout.${table} IN SHARE UPDATE EXCLUSIVE MODE`);
      await get('/health/ready').expect(200);
    });
  });

  it('is not ready while row-level security hides rows from its user, such as events that the relay has to send', async () => {
    const { dataSource, url } = service.database;
    const role = `guest_${randomUUID().slice(0, 8)}`;
    await dataSource.query(`CREATE ROLE ${role} LOGIN PASSWORD 'right'; GRANT USAGE ON SCHEMA order_timeout TO ${role};
      GRANT ALL ON ALL TABLES IN SCHEMA order_timeout TO ${role}`);
    const asRole = Object.assign(new URL(url), { username: role, password: 'right' }).href;
    const guest = await connectTo(asRole, 2);
    expect(await areTablesFree(guest, 'order_timeout')).toBe(true);
    await dataSource.query('ALTER TABLE order_timeout.outbox ENABLE ROW LEVEL SECURITY');
    const isFree = await areTablesFree(guest, 'order_timeout');
    await guest.destroy();
    await dataSource.query(`ALTER TABLE order_timeout.outbox DISABLE ROW LEVEL SECURITY;
      DROP OWNED BY ${role}; DROP ROLE ${role}`);
    expect(isFree).toBe(false);
  });

  it('keeps idle connections longer than load balancers do', async () => {
    const { headers } = await fetch(`${await service.app.getUrl()}/health/live`);
    expect(headers.get('keep-alive')).toBe('timeout=75');
  });

  it('exports what the engine did, and how things stand', async () => {
    await service.call('put', '/inventory/apple', { onHand: 1 }).expect(200);
    const order = anOrder({ paymentWindowMs: 50 });
    await service.call('post', '/orders', order).expect(201);
    await until(async () => (await service.call('get', `/orders/${order.id}`)).body.status === 'CLOSED');
    const { text, headers } = await get('/metrics').expect(200);
    expect(headers['content-type']).toMatch(/^text\/plain;.* version=0.0.4/);
    expect(text).toMatch(/order_timeout_lateness_seconds_bucket\{le="0.005",kind="order.payment",cause="\w+"\} \d/);
    expect(text).toMatch(/order_timeout_settled_total\{kind="order.payment",cause="\w+",outcome="done"\} 1/);
    expect(text).toContain('order_timeout_outbox_rows ');
    expect(text).toContain('order_timeout_outbox_oldest_seconds ');
    expect(text).toContain('order_timeout_outbox_parked 0');
    expect(text).toContain('order_timeout_transport{name="ladder"} 1');
    expect(text).toContain('order_timeout_message_path_up 1');
    expect(text).toContain('order_timeout_database_up 1');
    expect(text).toContain('order_timeout_purged_total{what="orders"} 0');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
  });

  it('tells for how long an order is held open by answers that say nothing', async () => {
    await service.database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       VALUES ('order.payment', 'held', 1, now() - interval '3 days', now() + interval '1 hour')`,
    );
    const { text } = await get('/metrics').expect(200);
    const [, seconds] = /order_timeout_undecided_oldest_seconds\{kind="order.payment"\} (\S+)/.exec(text) ?? [];
    expect(Math.floor(Number(seconds) / 86_400)).toBe(3);
  });

  it('tells what an operator has paused, and forgets what is resumed', async () => {
    const paused = async (): Promise<string[]> =>
      [...(await get('/metrics').expect(200)).text.matchAll(/order_timeout_paused\{what="(.+)"\} 1/g)].map(
        ([, what = '']) => what,
      );
    const name = 'control:provider:maintained';
    const pause = { by: 'anna', reason: 'maintenance', at: new Date().toISOString() };
    expect(await paused()).toEqual([]);
    const insert = 'INSERT INTO order_timeout.engine_setting (name, value) VALUES ($1, $2)';
    await service.database.dataSource.query(insert, [name, JSON.stringify({ pause })]);
    await until(async () => (await paused()).join() === 'provider:maintained');
    await service.database.dataSource.query('DELETE FROM order_timeout.engine_setting WHERE name = $1', [name]);
    await until(async () => (await paused()).length === 0);
  });
});

describe('a schema that a newer release migrates', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });

  afterAll(() => service.close());

  const record = (table: string, columns: string, values: string[]): Promise<unknown> =>
    service.database.dataSource.query(
      `INSERT INTO order_timeout.${table} (${columns}) VALUES (${values.map((_, at) => `$${at + 1}`).join(', ')})`,
      values,
    );
  const ready = (): Call => service.call('get', '/health/ready', undefined, null);
  const consumers = async (): Promise<number> => {
    type Queue = { readonly name: string; readonly consumers?: number };
    const queues = await service.vhost.manage<Queue[]>('GET', `/queues/${service.vhost.name}`);
    const working = queues.filter(({ name }) => name.startsWith(`${PREFIX}.work.`));
    return working.reduce((sum, queue) => sum + (queue.consumers ?? 0), 0);
  };

  it('is left to that release by an instance that cannot work with it, and not by one that can', async () => {
    const known = 'RenameUnmatchedPayment1765400001200';
    await record('order_timeout_compatible_migrations', 'name, compatible_since', ['Fits9000000000000', known]);
    // Twice the time in which it looks.
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    expect((await ready()).body.status).toBe('ready');
    expect(await consumers()).toBeGreaterThan(0);
    await record('order_timeout_migrations', '"timestamp", name', ['9000000000001', 'Other9000000000001']);
    await until(async () => (await ready()).status === 503);
    expect((await ready()).body).toMatchObject({ status: 'not-ready', engine: 'starting-or-stopping' });
    await until(async () => (await consumers()) === 0);
  });
});

describe('a database that becomes unavailable', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let app: NestExpressApplication;
  let gate: TcpProxy;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    gate = await TcpProxy.open(database.url);
    const config = loadConfig(environmentOf(gate.url, vhost.url));
    app = await createService(config);
    await startService(app, config.http);
  });

  afterAll(async () => {
    await app.close();
    await gate.shut();
    await database.drop();
    await vhost.drop();
  });

  it('is answered with 503 until it is back, while the process stays alive', async () => {
    const call = callerOf(app);
    const ready = (status: number) => async (): Promise<boolean> =>
      (await call('get', '/health/ready')).status === status;
    await until(ready(200));
    await gate.shut();
    await until(ready(503));
    const { body, headers } = await call('get', '/orders/o-1').expect(503);
    expect(body).toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(headers['retry-after']).toBe('5');
    await call('get', '/health/live').expect(200);
    const { text } = await call('get', '/metrics').expect(200);
    expect(text).toContain('order_timeout_database_up 0');
    await gate.reopen();
    await until(ready(200));
    await call('get', '/orders/o-1').expect(404);
  });
});

describe('a broker that is unavailable', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let app: NestExpressApplication;
  let gate: TcpProxy;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    gate = await TcpProxy.open(vhost.url);
    await gate.shut();
    const config = loadConfig(environmentOf(database.url, gate.url));
    app = await createService(config);
    await startService(app, config.http);
  });

  afterAll(async () => {
    await app.close();
    await gate.shut();
    await database.drop();
    await vhost.drop();
  });

  const health = async () => (await callerOf(app)('get', '/health/ready')).body;

  it('neither stops the start nor the closing, and is used once it is there', async () => {
    const call = callerOf(app);
    await until(async () => (await health()).status === 'degraded');
    expect(await health()).toMatchObject({ engine: 'ready', database: 'up', broker: 'down', messagePath: 'down' });
    await call('put', '/inventory/apple', { onHand: 1 }).expect(200);
    const order = anOrder({ paymentWindowMs: 100 });
    await call('post', '/orders', order).expect(201);
    await until(async () => (await call('get', `/orders/${order.id}`)).body.status === 'CLOSED');

    await gate.reopen();
    await until(async () => (await health()).status === 'ready');
    await until(async () => (await call('get', '/metrics')).text.includes('order_timeout_outbox_rows 0'));
  });
});
