import { type DataSource, type EntityManager } from 'typeorm';
import { DONE, type DueTimeout, TimeoutHandler, type TimeoutOutcome } from '../../../src/timeouts';
import { TcpProxy } from '../../support/servers/tcp-proxy';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

@TimeoutHandler('by-a-host')
class ByAHost {
  async handleBatch(batch: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    await tx.query('SELECT 1');
    return batch.map(() => DONE);
  }
}

/** Ten seconds until the silence is noticed, twice where a second connection was as dead, and the work itself. */
const LIMIT_MS = 40_000;

describe('the engine in the pool of a host that sets no limits', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let proxy: TcpProxy;
  let pool: DataSource;
  let engine: TestEngine;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    proxy = await TcpProxy.open(database.url);
    pool = await connectTo(proxy.url, 10);
    engine = await startEngine({ ...database, dataSource: pool }, vhost.url, [new ByAHost()]);
    await until(() => engine.engine.isMessagePathUp && engine.engine.isReady);
  });
  afterAll(async () => {
    await engine.close();
    await pool.destroy();
    await proxy.shut();
    await database.drop();
    await vhost.drop();
  });

  const waiting = async (table: string): Promise<number> => {
    const sql = `SELECT count(*)::int AS count FROM order_timeout.${table}`;
    const [row] = await database.dataSource.query<{ count: number }[]>(sql);
    return row?.count ?? NaN;
  };

  it('goes on by itself when all its connections fall silent, and new ones are let through', async () => {
    proxy.swallow();
    proxy.restore();
    const keys = Array.from({ length: 20 }, (_, n) => `t-${n}`);
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind: 'by-a-host', key, afterMs: 500 })),
        { tx },
      ),
    );
    await engine.settled.done(keys.length, LIMIT_MS);
    // The relay, too: what it has published is gone.
    await until(async () => (await waiting('outbox')) === 0, LIMIT_MS);
    expect(engine.settled.rows.every(({ due }) => due.attempts === 0)).toBe(true);
  });
});
