import { type DataSource, type QueryRunner } from 'typeorm';
import { applyLive, createIndexLive, type LiveMigration } from '../../../src/database/migrations';
import { hangUp, type PooledClient } from '../../../src/database';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';

const MIGRATION: LiveMigration = {
  isLive: true,
  up: (runner) => createIndexLive(runner, 'public', { name: 'book_title', table: 'book', on: '(title)' }),
  down: (runner) => runner.query('DROP INDEX public.book_title') as Promise<never>,
};

describe('an index that is created live', () => {
  let database: TestDatabase;
  let builders: DataSource[];

  beforeAll(async () => {
    database = await createDatabase();
    await database.dataSource.query('CREATE TABLE public.book (title text)');
    builders = await Promise.all([1, 2, 3, 4, 5, 6].map(() => connectTo(database.url, 1)));
    // The pool of a process that is killed hears of nothing.
    for (const { driver } of builders)
      (driver as unknown as { master: NodeJS.EventEmitter }).master.on('error', () => undefined);
  });
  afterAll(async () => {
    for (const builder of builders) await builder.destroy().catch(() => undefined);
    await database.drop();
  });

  const atServer = async (words: string): Promise<number> => {
    const [row] = await database.dataSource.query<{ count: number }[]>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query ILIKE $1`,
      [words],
    );
    return row?.count ?? 0;
  };

  const validity = () =>
    database.dataSource.query<{ valid: boolean }[]>(
      `SELECT indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE relname = 'book_title'`,
    );

  it('is valid in the end, although processes were killed while they built and dropped it', async () => {
    const old = database.dataSource.createQueryRunner();
    await old.startTransaction('REPEATABLE READ');
    await old.query('SELECT count(*) FROM public.book');
    const runners = builders.map((builder) => builder.createQueryRunner());
    const last = runners.pop() as QueryRunner;

    const killed: Promise<void>[] = [];
    for (const runner of runners) {
      killed.push(applyLive(runner, MIGRATION));
      await until(async () => (await validity()).length === 1);
      await until(async () => (await atServer('DROP INDEX%book_title%')) === killed.length - 1);
    }
    for (const runner of runners) {
      const client = (await runner.connect()) as PooledClient & { on(event: 'error', listener: () => void): void };
      client.on('error', () => undefined);
      hangUp(client, new Error('killed'));
    }
    await Promise.allSettled(killed);
    const done = applyLive(last, MIGRATION);
    await until(async () => (await atServer('DROP INDEX%book_title%')) === runners.length);
    await old.commitTransaction();
    await old.release();

    await done;
    await until(async () => (await atServer('%INDEX%book_title%')) === 0);
    expect(await validity()).toEqual([{ valid: true }]);
    await last.release();
  });
});
