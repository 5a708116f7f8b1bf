import { randomUUID } from 'node:crypto';
import { ConsoleLogger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Client } from 'pg';
import { type DataSource } from 'typeorm';
import { migrate, Orders, OrderTimeoutModule } from '../../../src';
import { TimeoutsModule } from '../../../src/public/timeouts';
import { connectTo, onServer, serverUrl, urlOf } from '../../support/database';
import { until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const DEAD = '127.0.0.1:1';
const CLOSED = `SELECT 1 FROM order_timeout.orders WHERE status = 'CLOSED'`;

describe('a module that is given the URL of a database', () => {
  const name = `ot_url_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const url = urlOf(name);
  let vhost: TestVhost;
  let observer: DataSource;
  let module: TestingModule | undefined;

  beforeAll(async () => {
    vhost = await createVhost();
  });
  beforeEach(async () => {
    await onServer(`CREATE DATABASE ${name}`);
    observer = await connectTo(url, 1);
  });
  afterEach(async () => {
    await module?.close();
    module = undefined;
    await observer.destroy();
    await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
  });
  afterAll(() => vhost.drop());

  const start = async (imported: Parameters<typeof Test.createTestingModule>[0]['imports'] = []) => {
    module = await Test.createTestingModule({ imports: imported })
      .setLogger(new ConsoleLogger({ logLevels: [] }))
      .compile();
    return module.init();
  };
  const rabbit = () => ({ urls: [vhost.url], queueType: 'classic' as const });
  const connections = async (): Promise<number> => {
    const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name LIKE 'nestjs-order-timeout%'`;
    const [row] = await observer.query<{ count: number }[]>(sql);
    return row?.count ?? 0;
  };

  it('creates its tables, places orders, and ends its connections with the application', async () => {
    const app = await start([OrderTimeoutModule.forRoot({ database: { url, poolSize: 3 }, rabbit: rabbit() })]);
    const order = { id: 'by-url', amount: 1, currency: 'EUR', lines: [] };
    expect(await app.get(Orders).place(order)).toMatchObject({ outcome: 'placed' });
    expect(await app.get(Orders).get('by-url')).toMatchObject({ status: 'PENDING' });
    expect(await connections()).toBeGreaterThan(0);
    expect(await connections()).toBeLessThanOrEqual(3);
    await app.close();
    await until(async () => (await connections()) === 0);
  });

  it('closes an order on PostgreSQL alone, which another connection has placed', async () => {
    const app = await start([OrderTimeoutModule.forRoot({ database: url })]);
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query('BEGIN');
      const order = { id: 'alone', amount: 1, currency: 'EUR', lines: [], paymentWindowMs: 1_000 };
      expect(await app.get(Orders).place(order, { tx: client })).toMatchObject({ outcome: 'placed' });
      await client.query('COMMIT');
    } finally {
      await client.end();
    }
    // Not by get, which would close it.
    await until(async () => (await observer.query<unknown[]>(CLOSED)).length === 1);
    expect(await app.get(Orders).history('alone')).toMatchObject([{ cause: 'api' }, { cause: 'sweep' }]);
  });

  it('finds the server that takes writes, if the URL names several', async () => {
    const several = url.replace(`@${new URL(serverUrl()).host}`, `@${DEAD},${new URL(serverUrl()).host}`);
    expect(several).toContain(DEAD);
    const app = await start([OrderTimeoutModule.forRoot({ database: several, rabbit: rabbit() })]);
    expect(await app.get(Orders).get('none')).toBeUndefined();
  });

  it('runs the engine alone, once migrate was called with the URL', async () => {
    expect(await migrate(url)).not.toEqual([]);
    expect(await migrate(url)).toEqual([]);
    await until(async () => (await connections()) === 0);
    await start([TimeoutsModule.forRoot({ database: url, rabbit: rabbit() })]);
    expect(await connections()).toBeGreaterThan(0);
  });

  it('is refused without a connection and with two, before it connects', async () => {
    const both = { dataSource: observer, database: url, rabbit: rabbit() };
    await expect(start([OrderTimeoutModule.forRoot(both)])).rejects.toThrow('not both');
    await expect(start([OrderTimeoutModule.forRoot({ rabbit: rabbit() })])).rejects.toThrow('the URL of the server');
    await expect(migrate('http://nowhere')).rejects.toThrow('database.url must be a URL');
    expect(await connections()).toBe(0);
  });
});
