import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool, type PoolClient } from 'pg';
import { SystemClock } from '../../../src/clock';
import { isDatabaseUnavailable, ResilientClient, retryWhileUnavailable } from '../../../src/database';
import { createDatabase, type TestDatabase } from '../../support/database';
import { stretched } from '../../support/machine-load';
import { TcpProxy } from '../../support/servers/tcp-proxy';

/** Not events.once(): that would listen to errors too, which is what is tested. */
const endOf = (client: PoolClient): Promise<void> => new Promise((resolve) => client.once('end', resolve));

describe('a client of the service', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await createDatabase();
    const options = { connectionString: database.url, query_timeout: stretched(300), Client: ResilientClient };
    pool = new Pool(options);
    // As TypeORM does: the pool tells of idle clients that have ended.
    pool.on('error', () => undefined);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it('survives the end of its server while nobody else listens to it', async () => {
    const client = await pool.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const ended = endOf(client);
    await database.dataSource.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await ended;
    client.release(true);
  });

  it('reads dates, whatever format the database, the user, or the URL sets', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await database.dataSource.query(`ALTER DATABASE ${name} SET datestyle = 'German'`);
    for (const url of [database.url, `${database.url}?options=-c%20datestyle%3DSQL,DMY`]) {
      const client = new ResilientClient(url);
      await client.connect();
      const { rows } = await client.query(`SELECT '2026-02-01T00:00:00Z'::timestamptz AS at`);
      await client.end();
      expect(rows).toEqual([{ at: new Date('2026-02-01T00:00:00Z') }]);
    }
    await database.dataSource.query(`ALTER DATABASE ${name} RESET datestyle`);
  });

  it('closes a connection whose answer does not come, and says that the database is unavailable', async () => {
    const client = await pool.connect();
    const ended = endOf(client);
    const failure = await client.query('SELECT pg_sleep(60)').catch((error: unknown) => error);
    expect((failure as Error).message).toBe('Query read timeout');
    expect(isDatabaseUnavailable(failure)).toBe(true);
    await ended;
    client.release(true);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('closes the idle connections beside it too, when they have not been heard of since', async () => {
    const [asking, idle, heard] = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const ends = [asking, idle].map(endOf);
    idle.release();
    const failing = asking.query('SELECT pg_sleep(60)').catch((error: unknown) => error);
    await heard.query('SELECT 1');
    await failing;
    await Promise.all(ends);
    asking.release(true);
    expect((await heard.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    heard.release();
  });

  it('closes a connection whose server takes no writes any more, and the idle ones beside it', async () => {
    const [writing, idle] = await Promise.all([pool.connect(), pool.connect()]);
    const ends = [writing, idle].map(endOf);
    await writing.query('SET default_transaction_read_only = on');
    idle.release();
    const failure = await writing.query('CREATE TABLE t ()').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: '25006' });
    expect(isDatabaseUnavailable(failure)).toBe(true);
    writing.release();
    await Promise.all(ends);
    expect((await pool.query('CREATE TEMPORARY TABLE t ()')).command).toBe('CREATE');
  });

  it('leaves those in a transaction alone, and all when only its own transaction takes no writes', async () => {
    const [reading, idle, booking] = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    await booking.query('START TRANSACTION');
    await reading.query('START TRANSACTION READ ONLY');
    await expect(reading.query('CREATE TABLE t ()')).rejects.toMatchObject({ code: '25006' });
    reading.release(true);
    expect((await idle.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    const ended = endOf(idle);
    const writing = await pool.connect();
    await writing.query('SET default_transaction_read_only = on');
    await expect(writing.query('CREATE TABLE t ()')).rejects.toMatchObject({ code: '25006' });
    writing.release(true);
    await ended;
    idle.release(true);
    await booking.query('CREATE TEMPORARY TABLE t ()');
    await booking.query('COMMIT');
    booking.release();
  });

  it('fails to connect while a file that its URL names is away, also for whoever waits for a place in the pool', async () => {
    const file = join(tmpdir(), `ca-${randomUUID()}.crt`);
    const tls = new Pool({ connectionString: database.url, max: 1, Client: ResilientClient });
    const held = await tls.connect();
    tls.options.connectionString = `${database.url}?sslmode=verify-ca&sslrootcert=${file}`;
    const waiting = tls.connect().catch((error: unknown) => error);
    held.release(true);
    expect(await waiting).toMatchObject({ code: 'ENOENT', path: file });
    await expect(tls.connect()).rejects.toMatchObject({ code: 'ENOENT' });
    tls.options.connectionString = database.url;
    expect((await tls.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await tls.end();
  });

  describe('with a URL of several servers', () => {
    const ofServers = (change: (url: URL) => void, attributes = ''): ResilientClient => {
      const url = new URL(database.url);
      change(url);
      // Nothing listens on port 1.
      const connectionString = url.href.replace(url.host, `127.0.0.1:1,${url.host}`) + attributes;
      return new ResilientClient({ connectionString });
    };

    it('connects to the one that takes writes', async () => {
      const client = ofServers(() => undefined, '?target_session_attrs=read-write');
      await client.connect();
      expect(client.port).toBe(Number(new URL(database.url).port));
      await client.query('CREATE TEMPORARY TABLE t ()');
      await client.end();
    });

    it('connects to one whose sessions take most of the time that a connect may take', async () => {
      const slow = await TcpProxy.open(database.url);
      const limitMs = stretched(1_500);
      slow.delay(limitMs * 0.7);
      const { host } = new URL(slow.url);
      const connectionString = `${slow.url.replace(host, `127.0.0.1:1,${host}`)}?target_session_attrs=read-write`;
      const slowPool = new Pool({ connectionString, connectionTimeoutMillis: limitMs, Client: ResilientClient });
      try {
        // The search takes most of the first client's time.
        await expect(slowPool.query('SELECT 1')).rejects.toThrow('timeout');
        expect((await slowPool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
      } finally {
        await slowPool.end();
        await slow.shut();
      }
    });

    it('says of each why it is of no use when none takes writes, and not the password', async () => {
      const client = ofServers((url) => (url.port = '2'));
      const failure = (await client.connect().catch((error: unknown) => error)) as Error;
      expect(failure.message).toMatch(/NO_WRITABLE_SERVER: 127.0.0.1:1 .*ECONNREFUSED.*; 127.0.0.1:2 .*ECONNREFUSED/);
      expect(failure.message).not.toContain(new URL(database.url).password);
      expect(isDatabaseUnavailable(failure)).toBe(true);
    });

    it('says that the password is wrong, for which a start does not wait', async () => {
      const client = ofServers((url) => (url.password = 'wrong'));
      const failure = await client.connect().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: '28P01' });
      const start = retryWhileUnavailable(new SystemClock(), () => Promise.reject(failure as Error));
      await expect(start).rejects.toBe(failure);
    });
  });
});
