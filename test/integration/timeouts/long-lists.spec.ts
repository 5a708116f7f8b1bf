import { type QueryRunner } from 'typeorm';
import { TimeoutQueries } from '../../../src/timeouts/scheduling/timeout-queries';
import { TimeoutScheduler } from '../../../src/timeouts/scheduling/timeout-scheduler';
import { createDatabase, type TestDatabase } from '../../support/database';

const COUNT = 12_000;

describe('a long list of timeouts', () => {
  let database: TestDatabase;
  let scheduler: TimeoutScheduler;
  let said: string[];

  // Without an engine, whose loops would send statements of their own.
  beforeAll(async () => {
    database = await createDatabase();
    scheduler = new TimeoutScheduler({
      dataSource: database.dataSource,
      queries: new TimeoutQueries('order_timeout'),
      writesWakeUps: true,
      horizonMs: 60_000,
      checkKind: () => undefined,
      wake: () => undefined,
    });
    said = [];
    const runner = database.dataSource.createQueryRunner();
    const prototype = Object.getPrototypeOf(runner) as QueryRunner;
    const send = prototype.query.bind.bind(prototype.query) as (runner: unknown) => QueryRunner['query'];
    jest.spyOn(prototype, 'query').mockImplementation(function (this: unknown, ...given) {
      said.push(given[0].trim().split(/\s/)[0] ?? '');
      return send(this)(...given);
    });
    await runner.release();
  });
  beforeEach(() => void said.splice(0));
  afterAll(async () => {
    jest.restoreAllMocks();
    await database.drop();
  });

  const WRITTEN_IN_PARTS = ['START', 'WITH', 'WITH', 'WITH', 'COMMIT'];
  const refs = Array.from({ length: COUNT }, (_, n) => ({ kind: 'long', key: `key-${n}` }));

  it('is written in one transaction, part by part, and what is written is made before it begins', async () => {
    const payload = { toJSON: () => (said.at(-1) === 'payload' || said.push('payload'), {}) };
    const scheduled = await scheduler.schedule(refs.map((ref) => ({ ...ref, afterMs: 3_600_000, payload })));
    expect(said).toEqual(['payload', ...WRITTEN_IN_PARTS]);
    expect(new Set(scheduled.map(({ key }) => key)).size).toBe(COUNT);
  });

  it('is written by a single statement in a transaction of the host, which may end between two', async () => {
    await database.dataSource.transaction((tx) =>
      scheduler.schedule(
        refs.map((ref) => ({ ...ref, afterMs: 7_200_000 })),
        { tx },
      ),
    );
    expect(said).toEqual(['START', 'WITH', 'COMMIT']);
  });

  it('is canceled in one transaction, part by part', async () => {
    expect(await scheduler.cancel([...refs, { kind: 'long', key: 'none' }])).toBe(COUNT);
    expect(said).toEqual(WRITTEN_IN_PARTS);
  });
});
