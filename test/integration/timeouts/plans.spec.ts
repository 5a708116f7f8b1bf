import { type QueryRunner } from 'typeorm';
import { SettlementQueries } from '../../../src/timeouts/engine/timeout-settler';
import { TimeoutQueries } from '../../../src/timeouts/scheduling/timeout-scheduler';
import { createDatabase, type TestDatabase } from '../../support/database';

const settlement = new SettlementQueries('order_timeout');
const queries = new TimeoutQueries('order_timeout');
const LEASE = '00000000-0000-4000-8000-000000000000';

const STATEMENTS: [name: string, sql: string, types: string, args: string, index: string][] = [
  [
    'lockOverdue',
    settlement.lockOverdue,
    'text, float8, timestamptz, text, timestamptz, int',
    `'a.kind', 0, '-infinity', '', 'infinity', 100`,
    'timeout_due',
  ],
  [
    'anyOverdue',
    settlement.anyOverdue,
    'text, float8, timestamptz, text, timestamptz',
    `'a.kind', 0, '-infinity', '', 'infinity'`,
    'timeout_due',
  ],
  ['upcoming', queries.upcoming, 'text, float8, int', `'a.kind', 2000, 100`, 'timeout_due'],
  ['find', queries.find, 'text, text', `'a.kind', 'key-7'`, 'timeout_pkey'],
  ['pending', queries.pending, 'text, text, int', `'a.kind', 'key-7', 10`, 'timeout_pkey'],
  ['kinds', queries.kinds, '', '', 'timeout_due'],
];

describe('the plans of the statements that run all the time, with 20 000 rows', () => {
  let database: TestDatabase;
  let runner: QueryRunner;

  beforeAll(async () => {
    database = await createDatabase();
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state)
       SELECT CASE WHEN n % 2 = 0 THEN 'a.kind' ELSE 'b.kind' END, 'key-' || n, n, now(),
              now() + (n - 2000) * interval '1 second', CASE WHEN n % 20 = 0 THEN 'parked' ELSE 'pending' END
         FROM generate_series(1, 20000) AS n`,
    );
    await database.dataSource.query('ANALYZE order_timeout.timeout');
    runner = database.dataSource.createQueryRunner();
    await runner.query('DEALLOCATE ALL');
  });

  afterAll(async () => {
    await runner.query('RESET plan_cache_mode');
    await runner.release();
    await database.drop();
  });

  describe.each(['force_generic_plan', 'force_custom_plan'])('with plan_cache_mode = %s', (mode) => {
    beforeAll(() => runner.query(`SET plan_cache_mode = ${mode}`));

    it.each(STATEMENTS)('%s uses an index', async (name, sql, types, args, index) => {
      await runner.query(`PREPARE ${name}_${mode}${types && `(${types})`} AS ${sql}`);
      const explain = `EXPLAIN EXECUTE ${name}_${mode}${args && `(${args})`}`;
      const rows = (await runner.query(explain)) as unknown as { 'QUERY PLAN': string }[];
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain(index);
      expect(plan).not.toContain('Seq Scan on timeout');
      expect(plan).not.toMatch(/\bSort\b/);
    });
  });
});

describe('the plans of the statements that lock and settle what is wanted, before the first ANALYZE', () => {
  const numbers = Array.from({ length: 100 }, (_, index) => String(index + 1));
  const wanted = ['a.kind', numbers.map((n) => `key-${n}`), numbers];
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
    await database.dataSource.query('ALTER TABLE order_timeout.timeout SET (autovacuum_enabled = off)');
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       SELECT 'a.kind', 'key-' || n, n, now(), now() FROM generate_series(1, 20000) AS n`,
    );
  });
  afterAll(() => database.drop());

  it.each<[name: string, sql: string, args: unknown[]]>([
    ['lockByKeys', settlement.lockByKeys, wanted],
    ['lockLeased', settlement.lockLeased, [...wanted, numbers.map(() => LEASE)]],
    ['finish', settlement.finish, wanted],
    ['lease', settlement.lease, [...wanted, LEASE, 20_000]],
  ])('%s looks rows up by the primary key', async (_, sql, args) => {
    const rows = await database.dataSource.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN ${sql}`, args);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index Cond: \(\(kind = .*\) AND \(key = [wm]\.key\)\)/);
    expect(plan).not.toContain('timeout_due');
    expect(plan).not.toContain('Seq Scan on timeout');
  });
});
