import { type EntityManager } from 'typeorm';
import { ownTransaction } from '../../../src/database';
import { OverduePages } from '../../../src/timeouts/engine/overdue-pages';
import { SettlementQueries } from '../../../src/timeouts/engine/timeout-settler';
import { type BatchSelection, type SettledBatch } from '../../../src/timeouts/model/timeout';
import { createDatabase, type TestDatabase } from '../../support/database';
import { buffersOf, holdSnapshot } from '../../support/dead-rows';
import { ManualClock } from '../../support/manual-clock';

const KIND = 'dead.rows';
const DEAD = 60_000;
const queries = new SettlementQueries('order_timeout');

describe('the sweep while somebody holds an old snapshot', () => {
  let database: TestDatabase;
  let letGo: () => Promise<void>;
  let found: string[];
  let buffers: number;

  beforeAll(async () => {
    database = await createDatabase();
    letGo = await holdSnapshot(database.dataSource);
  });
  afterAll(async () => {
    await letGo();
    await database.drop();
  });

  const schedule = (key: string, ago = '0 seconds'): Promise<unknown> =>
    database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       VALUES ($1, $2, 1, now(), now() - $3::interval)`,
      [KIND, key, ago],
    );

  /** One sweep, as often as there are pages, with what its statements cost. */
  async function sweep(pages: OverduePages): Promise<void> {
    [found, buffers] = [[], 0];
    let page = await pages.settlePage(undefined, 0, 'sweep');
    while (page.next) page = await pages.settlePage(page.next, 0, 'sweep');
  }

  function pagesOn(clock: ManualClock): OverduePages {
    const findsAny = async (sql: string, values: unknown[]): Promise<boolean> => {
      buffers += await buffersOf(database.dataSource.manager, sql, values);
      return (await database.dataSource.query<unknown[]>(sql, values)).length > 0;
    };
    const settle = (selection: BatchSelection): Promise<SettledBatch> =>
      ownTransaction(database.dataSource, async (tx) => {
        const query = async (sql: string, args: unknown[]): Promise<unknown> => {
          buffers += await buffersOf(tx, sql, args);
          return tx.query(sql, args);
        };
        const { due } = await selection.lock({ query } as unknown as EntityManager);
        const keys = due.map(({ key }) => key);
        found.push(...keys);
        await tx.query('DELETE FROM order_timeout.timeout WHERE kind = $1 AND key = ANY ($2)', [KIND, keys]);
        return { settled: [], early: [], lease: '' };
      });
    const plan = {
      kind: KIND,
      queries,
      settler: { settle, findsAny },
      lookups: { lookUp: () => Promise.reject(new Error('nothing to look up')) },
      databaseClock: { nowMs: () => Date.now() },
      clock,
      pageSize: 100,
      overdue: { found: () => undefined },
      isPaused: () => false,
      batches: { run: () => Promise.reject(new Error('nothing to settle alone')) },
    };
    return new OverduePages(plan);
  }

  it('reads what is due since the last one, and not the rows that are gone', async () => {
    const clock = new ManualClock();
    const pages = pagesOn(clock);
    await schedule('first', '2 hours');
    await sweep(pages);
    expect(found).toEqual(['first']);
    await database.dataSource.query(
      `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       SELECT $1, 'gone-' || n, n, now(), now() - interval '1 hour' - n * interval '20 milliseconds'
         FROM generate_series(1, ${DEAD}) AS n`,
      [KIND],
    );
    await database.dataSource.query('DELETE FROM order_timeout.timeout WHERE kind = $1', [KIND]);
    await schedule('second');
    await sweep(pages);
    expect(found).toEqual(['second']);
    expect(buffers).toBeLessThan(500);
  });

  it('finds what was committed late, or was overdue already, when the past has its turn', async () => {
    const clock = new ManualClock();
    const pages = pagesOn(clock);
    await sweep(pages);
    await schedule('late', '30 minutes');
    await sweep(pages);
    expect(found).toEqual([]);
    clock.advance(1_000);
    await sweep(pages);
    expect(found).toEqual(['late']);
  });
});
