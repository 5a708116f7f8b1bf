import { type QueryRunner } from 'typeorm';
import { OutboxClaims } from '../../../src/outbox/outbox-claims';
import { createDatabase, type TestDatabase } from '../../support/database';
import { buffersOf, holdSnapshot } from '../../support/dead-rows';
import { ManualClock } from '../../support/manual-clock';

const DEAD = 60_000;
const LIMITS = { rows: 100, bytes: 1_000_000, leaseMs: 60_000 };

const FAIL_COMMITS = `
  CREATE FUNCTION order_timeout.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not committed'; END $$;
  CREATE CONSTRAINT TRIGGER fail AFTER UPDATE ON order_timeout.outbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION order_timeout.fail()`;

describe('claims of the outbox while somebody holds an old snapshot', () => {
  let database: TestDatabase;
  let letGo: () => Promise<void>;
  let buffers = 0;

  beforeAll(async () => {
    database = await createDatabase();
    letGo = await holdSnapshot(database.dataSource);
    const create = database.dataSource.createQueryRunner.bind(database.dataSource);
    jest.spyOn(database.dataSource, 'createQueryRunner').mockImplementation((...given) => measured(create(...given)));
  });
  afterAll(async () => {
    jest.restoreAllMocks();
    await letGo();
    await database.drop();
  });

  /** Counts what claims look at. They are undone before they are made. */
  function measured(runner: QueryRunner): QueryRunner {
    const query = runner.query.bind(runner) as (sql: string, args?: unknown[]) => Promise<unknown>;
    const measure = async (sql: string, args?: unknown[]): Promise<unknown> => {
      if (!sql.includes('candidate')) return query(sql, args);
      await query('SAVEPOINT before_claim');
      buffers += await buffersOf({ query } as never, sql, args ?? []);
      await query('ROLLBACK TO before_claim');
      return query(sql, args);
    };
    return Object.assign(runner, { query: measure });
  }

  const append = (count: number, ago: string): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.outbox (id, route, routing_key, body, available_at)
       SELECT gen_random_uuid(), 'event', 'k', jsonb_build_object('n', n), now() - $1::interval - n * interval '20 ms'
         FROM generate_series(0, $2::int - 1) AS n`,
      [ago, count],
    );
  const bury = (): Promise<unknown> => database.dataSource.query('DELETE FROM order_timeout.outbox');

  async function claim(claims: OutboxClaims): Promise<number> {
    buffers = 0;
    return (await claims.claim(database.dataSource, LIMITS)).rows.length;
  }

  it('read what has become due since the last one, and not the rows that are gone', async () => {
    const claims = new OutboxClaims('order_timeout', 'event', new ManualClock());
    await append(1, '2 hours');
    expect(await claim(claims)).toBe(1);
    await append(DEAD, '1 hour');
    await bury();
    await append(5, '0 s');
    expect(await claim(claims)).toBe(5);
    expect(buffers).toBeLessThan(500);
    expect(await claim(claims)).toBe(0);
    expect(buffers).toBeLessThan(500);
  });

  it('find what was committed late when the past has its turn', async () => {
    const clock = new ManualClock();
    const claims = new OutboxClaims('order_timeout', 'event', clock);
    expect(await claim(claims)).toBe(0);
    await append(1, '30 minutes');
    expect(await claim(claims)).toBe(0);
    clock.advance(1_000);
    expect(await claim(claims)).toBe(1);
  });

  it('find what the last one took again if it was not committed', async () => {
    await bury();
    const clock = new ManualClock();
    const claims = new OutboxClaims('order_timeout', 'event', clock);
    expect(await claim(claims)).toBe(0);
    await append(1, '30 minutes');
    clock.advance(1_000);
    await database.dataSource.query(FAIL_COMMITS);
    await expect(claim(claims)).rejects.toThrow('not committed');
    await database.dataSource.query('DROP TRIGGER fail ON order_timeout.outbox');
    expect(await claim(claims)).toBe(1);
  });

  it('take a backlog oldest first, a page after the other, each row once', async () => {
    await bury();
    await append(1_050, '1 minute');
    const claims = new OutboxClaims('order_timeout', 'event', new ManualClock());
    const ids: string[] = [];
    const pages: number[] = [];
    for (let full = true; full && pages.length < 20;) {
      const { rows, isFull } = await claims.claim(database.dataSource, LIMITS);
      ids.push(...rows.map(({ id }) => id));
      pages.push(rows.length);
      full = isFull;
    }
    expect(new Set(ids).size).toBe(1_050);
    expect(pages.slice(0, 11)).toEqual([...Array.from({ length: 10 }, () => 100), 50]);
  });
});
