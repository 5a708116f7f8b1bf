import { type EntityManager, type QueryRunner } from 'typeorm';
import {
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutHandlerSingle,
  type TimeoutOutcome,
} from '../../src/timeouts';
import { createDatabase, type TestDatabase } from '../support/database';
import { startEngine, type TestEngine, until } from '../support/engine';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';
import { stretched } from '../support/machine-load';

/** Handlers of a host that know nothing of locks. The account is what comes before the colon of the key. */
const count = (key: string, tx: EntityManager): Promise<unknown> =>
  tx.query('UPDATE account SET n = n + 1 WHERE id = $1', [key.split(':')[0]]);

@TimeoutHandler('held.batch')
class Batch implements TimeoutHandlerBatch {
  async handleBatch(due: readonly DueTimeout[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    for (const { key } of due) await count(key, tx);
    return due.map(() => DONE);
  }
}

@TimeoutHandler('held.single')
class Single implements TimeoutHandlerSingle {
  async handle({ key }: DueTimeout, tx: EntityManager): Promise<void> {
    await count(key, tx);
  }
}

describe('timeouts that need a row which another session holds', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  let holder: QueryRunner;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    await database.dataSource.query('CREATE TABLE account (id text PRIMARY KEY, n int NOT NULL DEFAULT 0)');
    await database.dataSource.query(`INSERT INTO account (id) SELECT 'free-' || n FROM generate_series(1, 20) n`);
    await database.dataSource.query(`INSERT INTO account (id) VALUES ('held')`);
    engine = await startEngine(database, vhost.url, [new Batch(), new Single()]);
    await until(() => engine.engine.isMessagePathUp);
    holder = database.dataSource.createQueryRunner();
  });

  afterAll(async () => {
    await holder.release();
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  it.each(['held.batch', 'held.single'])('come again uncounted, and nobody waits for them: %s', async (kind) => {
    const held = Array.from({ length: 30 }, (_, n) => `held:${kind}-${n}`);
    const free = Array.from({ length: 20 }, (_, n) => `free-${n + 1}:${kind}`);
    await holder.startTransaction();
    await holder.query(`SELECT 1 FROM account WHERE id = 'held' FOR UPDATE`);
    const keys = [...held.slice(0, 15), ...free, ...held.slice(15)];
    await database.dataSource.transaction((tx) =>
      engine.scheduler.schedule(
        keys.map((key) => ({ kind, key, afterMs: 200 })),
        { tx },
      ),
    );
    const isDone = (key: string): boolean =>
      engine.settled.rows.some(({ due, outcome }) => due.key === key && outcome.type === 'done');
    await engine.settled.until(() => free.every(isDone), 12_000);
    const late = engine.settled.rows.filter(({ due }) => free.includes(due.key)).map(({ lateMs }) => lateMs);
    // Each held row is tried again meanwhile.
    await engine.settled.until((rows) => rows.filter(({ due }) => held.includes(due.key)).length >= 60, 12_000);
    await holder.commitTransaction();
    await engine.settled.until(() => held.every(isDone), 10_000);
    // Half of what one statement may take; behind halved batches it would be 8 s for each half.
    expect(Math.max(...late)).toBeLessThan(stretched(4_000));
    const tries = engine.settled.rows.filter(({ due }) => held.includes(due.key));
    expect(tries.filter(({ outcome, due }) => due.attempts > 0 || outcome.type === 'park')).toEqual([]);
    const [row] = await database.dataSource.query<{ n: number }[]>(`SELECT n FROM account WHERE id = 'held'`);
    expect(row?.n).toBe(kind === 'held.batch' ? 30 : 60);
  });
});
