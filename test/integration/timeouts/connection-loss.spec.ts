import { type EntityManager } from 'typeorm';
import { ResilientClient } from '../../../src/database';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
} from '../../../src/timeouts';
import { createDatabase, onServer, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

/** No company in its transactions that could be split off: what fails here would be counted. */
@TimeoutHandler('one-by-one', { batchSize: 1, concurrency: 1, maxAttempts: 3 })
class OneByOne implements TimeoutHandlerSingle {
  calls = 0;
  onCall: () => void = () => undefined;

  async handle({ key }: DueTimeout, tx: EntityManager): Promise<TimeoutOutcome> {
    this.calls++;
    this.onCall();
    await tx.query('INSERT INTO effect VALUES ($1)', [key]);
    return DONE;
  }
}

describe.each(['ladder', 'none'] as const)('the engine without its database connections, transport %s', (transport) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let handler: OneByOne;
  let engine: TestEngine;

  beforeAll(async () => {
    // As the service connects: of pg's own client an error between two users of it ends the process.
    [database, vhost] = await Promise.all([createDatabase({ Client: ResilientClient }), createVhost()]);
    await database.dataSource.query('CREATE TABLE effect (key text)');
    handler = new OneByOne();
    engine = await startEngine(database, vhost.url, [handler], { transport });
    if (transport === 'ladder') await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  const endConnections = (): Promise<void> =>
    onServer(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = '${new URL(database.url).pathname.slice(1)}'`,
    );
  const effects = async (): Promise<string[]> => {
    const rows = await database.dataSource.query<{ key: string }[]>('SELECT key FROM effect ORDER BY key');
    return rows.map(({ key }) => key);
  };

  it('loses nothing, does nothing twice and counts nothing when they are all ended in mid-work', async () => {
    const keys = Array.from({ length: 60 }, (_, n) => `t-${n}`).sort();
    const endings: Promise<void>[] = [];
    handler.onCall = () => {
      if (handler.calls % 2 === 0 && handler.calls <= 6) endings.push(endConnections());
    };
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind: 'one-by-one', key, afterMs: 50 })),
        { tx },
      ),
    );
    await until(() => endings.length > 0);
    await until(async () => (await effects().catch(() => [])).length >= keys.length);
    await Promise.all(endings);
    expect(await effects()).toEqual(keys);
    expect(engine.settled.rows.filter(({ outcome, due }) => outcome.type !== 'done' || due.attempts > 0)).toEqual([]);
  });
});
