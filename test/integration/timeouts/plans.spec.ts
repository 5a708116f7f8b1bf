import { type QueryRunner } from 'typeorm';
import { SettlementQueries } from '../../../src/timeouts/settlement-queries';
import { TimeoutQueries } from '../../../src/timeouts/timeout-queries';
import { createDatabase, type TestDatabase } from '../../support/database';

const settlement = new SettlementQueries('order_timeout');
const queries = new TimeoutQueries('order_timeout');

const STATEMENTS: [name: string, sql: string, types: string, args: string, index: string][] = [
  [
    'lockOverdue',
    settlement.lockOverdue,
    'text, float8, timestamptz, text, int',
    `'a.kind', 0, '-infinity', '', 100`,
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
