import { type DataSource } from 'typeorm';
import { onOwnConnection } from '../../../src/database';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { stretched } from '../../support/machine-load';

const POOL = 5;

describe('a pool whose connections have all fallen silent', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let pool: DataSource;

  beforeAll(async () => {
    database = await createDatabase();
    proxy = await TcpProxy.open(database.url);
    pool = await connectTo(proxy.url, POOL);
  });

  afterAll(async () => {
    await pool.destroy();
    await proxy.shut();
    await database.drop();
  });

  const ask = (sql: string): Promise<unknown> => onOwnConnection(pool, stretched(1_000), (runner) => runner.query(sql));

  it('is given up at the first statement without an answer, and the next one goes by a new connection', async () => {
    // All at once, so that each connection answers and is idle again.
    await Promise.all(Array.from({ length: POOL }, () => ask('SELECT pg_sleep(0.2)')));
    proxy.swallow();
    proxy.restore();
    await expect(ask('SELECT 1')).rejects.toThrow('the database has not answered');
    await ask('SELECT 1');
  });
});
