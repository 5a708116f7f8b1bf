import { type EntityManager } from 'typeorm';
import { TimeoutHandler } from '../../../src/timeouts';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';

const LEVELS = ['read committed', 'repeatable read', 'serializable'];

@TimeoutHandler('test.level')
class NotesLevel {
  readonly seen: string[] = [];

  async handle(_due: unknown, tx: EntityManager): Promise<void> {
    const [row] = await tx.query<[{ level: string }]>(`SELECT current_setting('transaction_isolation') AS level`);
    this.seen.push(row.level);
  }
}

describe.each(LEVELS)('the engine on a database that defaults to %s', (level) => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  const handler = new NotesLevel();

  beforeAll(async () => {
    const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
    [database, vhost] = await Promise.all([createDatabase({ options }), createVhost()]);
    engine = await startEngine(database, vhost.url, [handler], { transport: 'none' });
  });

  afterAll(async () => {
    await engine.close();
    await database.drop();
    await vhost.drop();
  });

  it('runs handlers at READ COMMITTED', async () => {
    await engine.scheduler.schedule([
      { kind: 'test.level', key: 'first', afterMs: 0 },
      { kind: 'test.level', key: 'second', afterMs: 0 },
    ]);
    await engine.settled.done(2);
    expect(handler.seen).toEqual(['read committed', 'read committed']);
  });
});
