import { Pool, type PoolClient } from 'pg';
import { PLAN_BY_INDEX, PreparingClient } from '../../../src/database';
import { createDatabase, type TestDatabase } from '../../support/database';

interface Plan {
  readonly name: string;
  readonly custom: number;
  readonly generic: number;
}

describe('a client that prepares', () => {
  let database: TestDatabase;
  let pool: Pool;
  let client: PoolClient;

  const open = (settings: string): Pool => {
    const onConnect = (connected: PreparingClient): Promise<unknown> => connected.query(settings);
    const config: object = { connectionString: database.url, onConnect, Client: PreparingClient };
    const opened = new Pool(config);
    // As TypeORM does: the pool tells of idle clients that have ended.
    opened.on('error', () => undefined);
    return opened;
  };

  beforeAll(async () => {
    database = await createDatabase();
    pool = open(PLAN_BY_INDEX);
    client = await pool.connect();
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    client.release(true);
    await pool.end();
    await database.drop();
  });

  const plansOf = async (of: PoolClient, text: string): Promise<Plan[]> => {
    const { rows } = await of.query<Plan & { statement: string }>(
      'SELECT name, statement, custom_plans::int AS custom, generic_plans::int AS generic FROM pg_prepared_statements',
    );
    return rows.filter(({ statement }) => statement === text);
  };

  it('prepares a statement once, and keeps the plan of its first use', async () => {
    const text = 'SELECT $1::int + 1 AS next';
    for (const value of [1, 2, 3]) {
      expect((await client.query(text, [value])).rows).toEqual([{ next: value + 1 }]);
    }
    expect(await plansOf(client, text)).toMatchObject([{ custom: 0, generic: 3 }]);
  });

  it('leaves statements without values alone', async () => {
    await client.query('SELECT 1');
    await client.query('SELECT 2', []);
    expect([...(await plansOf(client, 'SELECT 1')), ...(await plansOf(client, 'SELECT 2'))]).toEqual([]);
  });

  it('gives a statement the same name on every connection', async () => {
    const other = await pool.connect();
    const text = 'SELECT $1::int + 2 AS next';
    await client.query(text, [1]);
    await other.query(text, [1]);
    const [mine, its] = [await plansOf(client, text), await plansOf(other, text)];
    other.release(true);
    expect(mine).toEqual(its);
  });

  it('plans anew after ten seconds: the plan for an empty table does not stay for one that has filled', async () => {
    const scanning = open('SET plan_cache_mode = force_generic_plan');
    const own = await scanning.connect();
    await own.query('CREATE TABLE filling (id int PRIMARY KEY, filler char(2000))');
    const countScans = async (): Promise<number> => {
      const { rows } = await own.query<{ scans: number }>(
        `SELECT seq_scan::int AS scans FROM pg_stat_xact_user_tables WHERE relname = 'filling'`,
      );
      return rows[0]?.scans ?? NaN;
    };
    // Within a transaction the server adds nothing to its statistics, and the session sees its own.
    const scans = async (): Promise<number> => {
      await own.query('START TRANSACTION');
      const before = await countScans();
      await own.query('SELECT filler FROM filling WHERE id = ANY($1::int[])', [[1, 2]]);
      const after = await countScans();
      await own.query('COMMIT');
      return after - before;
    };
    await scans();
    await own.query(`INSERT INTO filling SELECT n, 'x' FROM generate_series(1, 20000) n`);
    const filled = await scans();
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_000);
    const later = await scans();
    own.release(true);
    await scanning.end();
    expect([filled, later]).toEqual([1, 0]);
  });

  it('reads by the index with the options of the service, however small the table was', async () => {
    await client.query('CREATE TABLE small (id int PRIMARY KEY, filler char(2000))');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      'EXPLAIN SELECT filler FROM small WHERE id = ANY($1::int[])',
      [[1, 2]],
    );
    expect(rows.map((row) => row['QUERY PLAN']).join()).toContain('small_pkey');
  });

  it('prepares a statement anew that returns something else since a migration, on every connection', async () => {
    const other = await pool.connect();
    await client.query('CREATE TABLE migrated (id int)');
    const text = 'SELECT * FROM migrated WHERE id > $1';
    await client.query(text, [0]);
    await other.query(text, [0]);
    await client.query('ALTER TABLE migrated ADD COLUMN name text');
    await expect(client.query(text, [0])).rejects.toThrow('cached plan must not change result type');
    expect((await client.query(text, [0])).fields).toHaveLength(2);
    expect((await other.query(text, [0])).fields).toHaveLength(2);
    other.release(true);
  });

  it('prepares a statement anew that somebody has deallocated', async () => {
    const text = 'SELECT $1::int + 3 AS next';
    await client.query(text, [1]);
    await client.query('DEALLOCATE ALL');
    await expect(client.query(text, [1])).rejects.toThrow('does not exist');
    expect((await client.query(text, [1])).rows).toEqual([{ next: 4 }]);
  });

  it('fails and goes on as any client when its plans are due in a transaction that has failed', async () => {
    await client.query('BEGIN');
    await expect(client.query('SELECT $1::int / 0', [1])).rejects.toThrow('division by zero');
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_000);
    await expect(client.query('SELECT $1::int', [1])).rejects.toThrow('current transaction is aborted');
    await client.query('ROLLBACK');
    expect((await client.query('SELECT $1::int AS one', [1])).rows).toEqual([{ one: 1 }]);
  });

  it('does not ask for new plans before COMMIT, which would roll back without an error if that failed', async () => {
    const { connection } = client as unknown as { connection: { query(text: string): void } };
    await client.query('BEGIN');
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000);
    const sent = jest.spyOn(connection, 'query');
    await client.query('COMMIT');
    await client.query('SELECT 1');
    expect(sent.mock.calls.map(([text]) => text)).toEqual(['COMMIT', 'DISCARD PLANS', 'SELECT 1']);
  });

  it('prepares no more than 500: texts that are made of values go as they come', async () => {
    for (let n = 0; n < 510; n += 1) await client.query(`SELECT $1::int AS column_${n}`, [n]);
    const { rows } = await client.query<{ count: number }>('SELECT count(*)::int AS count FROM pg_prepared_statements');
    // Those of the other tests that failed have a name, too.
    expect(rows[0]?.count).toBeGreaterThan(480);
    expect(rows[0]?.count).toBeLessThanOrEqual(500);
  });
});
