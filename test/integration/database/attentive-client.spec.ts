import { Pool, type PoolClient } from 'pg';
import { AttentiveClient } from '../../../src/database';
import { isDatabaseAway } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';

/** Not events.once(): that would listen to errors too, which is what is tested. */
const endOf = (client: PoolClient): Promise<void> => new Promise((resolve) => client.once('end', resolve));

describe('a client of the service', () => {
  let database: TestDatabase;
  let pool: Pool;

  beforeAll(async () => {
    database = await createDatabase();
    const options = { connectionString: database.url, query_timeout: 300, Client: AttentiveClient };
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

  it('closes a connection whose answer does not come, and says that the database is away', async () => {
    const client = await pool.connect();
    const ended = endOf(client);
    const failure = await client.query('SELECT pg_sleep(5)').catch((error: unknown) => error);
    expect((failure as Error).message).toBe('Query read timeout');
    expect(isDatabaseAway(failure)).toBe(true);
    await ended;
    client.release(true);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('closes the idle connections beside it too, when they have not been heard of since', async () => {
    const [asking, idle, heard] = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const ends = [asking, idle].map(endOf);
    idle.release();
    const failing = asking.query('SELECT pg_sleep(5)').catch((error: unknown) => error);
    await heard.query('SELECT 1');
    await failing;
    await Promise.all(ends);
    asking.release(true);
    expect((await heard.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    heard.release();
  });
});
