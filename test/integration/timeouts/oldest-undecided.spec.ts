import { oldestUndecided } from '../../../src/timeouts';
import { dataSourceStub } from '../../support/data-source-stub';
import { createDatabase, type TestDatabase } from '../../support/database';

describe('how long the oldest timeout has been undecided', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    await database.dataSource.query('ALTER TABLE order_timeout.timeout SET (autovacuum_enabled = off)');
  });
  afterEach(() => database.dataSource.query('TRUNCATE order_timeout.timeout'));
  afterAll(() => database.drop());

  const insert = (kind: string, key: string, dueS: number, nextS: number, state = 'pending'): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state)
       VALUES ($1, $2, 1, now() + $3 * interval '1 second', now() + $4 * interval '1 second', $5)`,
      [kind, key, dueS, nextS, state],
    );
  const undecided = async (): Promise<Record<string, number>> => {
    const found = await oldestUndecided(database.dataSource, 'order_timeout');
    return Object.fromEntries([...found].map(([kind, seconds]) => [kind, Math.floor(seconds)]));
  };

  it('counts from the deadline of what is asked again, for each kind', async () => {
    await insert('a.kind', 'days', -200_000, 30);
    await insert('a.kind', 'minutes', -90, 30);
    await insert('c.kind', 'overdue again', -500, -10);
    expect(await undecided()).toEqual({ 'a.kind': 200_000, 'c.kind': 500 });
  });

  it('says nothing of what waits for its deadline, is handled for the first time, or is parked', async () => {
    await insert('a.kind', 'future', 60, 60);
    await insert('a.kind', 'asked early', 60, 90);
    await insert('b.kind', 'due', -5, -5);
    await insert('c.kind', 'parked', -500, 30, 'parked');
    expect(await undecided()).toEqual({});
  });

  it('reads one row a kind among many that are pending', async () => {
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       SELECT 'a.kind', 'key-' || n, n, at, at + CASE WHEN n % 100 = 0 THEN interval '1 day' ELSE interval '0' END
         FROM generate_series(1, 20000) AS n, LATERAL (SELECT now() - n * interval '1 second' AS at) AS t`,
    );
    await database.dataSource.query('ANALYZE order_timeout.timeout');
    const plan: string[] = [];
    const explaining = dataSourceStub({}, async (sql) => {
      const rows = await database.dataSource.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${sql}`);
      plan.push(...rows.map((row) => row['QUERY PLAN']));
      return [];
    });
    await oldestUndecided(explaining, 'order_timeout');
    expect(plan.join('\n')).toContain('timeout_undecided');
    expect(plan.join('\n')).not.toMatch(/Seq Scan on timeout|Sort/);
    expect(await undecided()).toEqual({ 'a.kind': 20_000 });
  });
});
