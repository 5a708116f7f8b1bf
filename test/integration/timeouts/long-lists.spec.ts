import { TimeoutQueries, TimeoutScheduler } from '../../../src/timeouts/scheduling/timeout-scheduler';
import { createDatabase, type TestDatabase } from '../../support/database';

const COUNT = 12_000;

describe('a long list of timeouts', () => {
  let database: TestDatabase;
  let scheduler: TimeoutScheduler;
  let query: jest.SpyInstance<Promise<unknown>, [sql: string]>;

  // Without an engine, whose loops would send statements of their own.
  beforeAll(async () => {
    database = await createDatabase();
    scheduler = new TimeoutScheduler({
      dataSource: database.dataSource,
      queries: new TimeoutQueries('order_timeout'),
      writesWakeUps: true,
      horizonMs: 60_000,
      wake: () => undefined,
    });
    const runner = database.dataSource.createQueryRunner();
    query = jest.spyOn(Object.getPrototypeOf(runner) as { query(sql: string): Promise<unknown> }, 'query');
    await runner.release();
  });
  beforeEach(() => query.mockClear());
  afterAll(async () => {
    query.mockRestore();
    await database.drop();
  });

  const said = (): unknown[] => query.mock.calls.map(([sql]) => sql.trim().split(/\s/)[0]);
  // The last one is a message of two statements: COMMIT is in it.
  const WRITTEN_IN_PARTS = ['START', 'WITH', 'WITH', 'WITH', 'SAVEPOINT'];
  const refs = Array.from({ length: COUNT }, (_, n) => ({ kind: 'long', key: `key-${n}` }));

  it('is written in one transaction, part by part, and what is written is made before it begins', async () => {
    const toJSON = jest.fn(() => ({}));
    const scheduled = await scheduler.schedule(
      refs.map((ref) => ({ ...ref, afterMs: 3_600_000, payload: { toJSON } })),
    );
    expect(said()).toEqual(WRITTEN_IN_PARTS);
    expect(toJSON).toHaveBeenCalledTimes(COUNT);
    expect(Math.max(...toJSON.mock.invocationCallOrder)).toBeLessThan(query.mock.invocationCallOrder[0] ?? 0);
    expect(new Set(scheduled.map(({ key }) => key)).size).toBe(COUNT);
  });

  it('is written by a single statement in a transaction of the host, which may end between two', async () => {
    await database.dataSource.transaction((tx) =>
      scheduler.schedule(
        refs.map((ref) => ({ ...ref, afterMs: 7_200_000 })),
        { tx },
      ),
    );
    expect(said()).toEqual(['START', 'SAVEPOINT', 'WITH', 'RELEASE', 'COMMIT']);
  });

  it('is canceled in one transaction, part by part', async () => {
    expect(await scheduler.cancel([...refs, { kind: 'long', key: 'none' }])).toBe(COUNT);
    expect(said()).toEqual(WRITTEN_IN_PARTS);
  });
});
