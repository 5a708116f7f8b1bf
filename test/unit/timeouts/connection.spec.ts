import { type DataSource } from 'typeorm';
import { PreparingClient, ResilientClient } from '../../../src/database';
import { InvalidOptionsError } from '../../../src/errors';
import { endConnection, openConnection, resolveTimeoutsOptions } from '../../../src/timeouts/model/timeouts-options';
import { poolGaps } from '../../../src/timeouts/startup/assert-database';
import { ManualClock } from '../../support/manual-clock';

const URL = 'postgres://user:secret@db-1,db-2/shop?target_session_attrs=read-write';
const problemsOf = (choice: object): readonly string[] => {
  try {
    resolveTimeoutsOptions(choice);
    return [];
  } catch (error) {
    return InvalidOptionsError.problemsIn(error);
  }
};
const host = { options: { type: 'postgres' } } as DataSource;

describe('how the module connects', () => {
  it.each([
    ['the DataSource of the host', { dataSource: host }],
    ['a URL', { database: URL }],
    ['a URL with options', { database: { url: URL, poolSize: 2, preparedStatements: false } }],
  ])('may be %s', (_, choice) => expect(problemsOf(choice)).toEqual([]));

  it.each<[string, object, string]>([
    ['both', { dataSource: host, database: URL }, 'either dataSource or database, not both'],
    ['neither', {}, 'give database the URL'],
    ['a DataSource of MySQL', { dataSource: { options: { type: 'mysql' } } }, 'of type "postgres"'],
    ['another URL', { database: 'mysql://user:secret@db/shop' }, 'database.url must be a URL such as postgres://'],
    ['no URL', { database: {} }, 'database.url must be a URL such as postgres://'],
    ['a standby', { database: `${URL.replace('read-write', 'standby')}` }, 'a standby takes no orders'],
    ['too small a pool', { database: { url: URL, poolSize: 1 } }, 'from 2 to 1000 (got 1)'],
    ['too large a pool', { database: { url: URL, poolSize: 1_001 } }, 'from 2 to 1000 (got 1001)'],
    ['a word', { database: { url: URL, preparedStatements: 'off' } }, 'preparedStatements must be true or false'],
    ['another name', { database: { url: URL, max: 5 } }, 'unknown option "database.max"'],
  ])('must not be %s', (_, choice, problem) => {
    const problems = problemsOf(choice);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(problems.join()).not.toContain('secret');
  });

  it('by a URL is a pool that lacks nothing', () => {
    const { dataSource, ownsConnection } = resolveTimeoutsOptions({ database: URL });
    expect(ownsConnection).toBe(true);
    expect(poolGaps(dataSource)).toBeUndefined();
    expect(dataSource.options).toMatchObject({ url: URL, poolSize: 20, extra: { Client: PreparingClient } });
  });

  it('by a URL of a pooler prepares no statements', () => {
    const { dataSource } = resolveTimeoutsOptions({ database: { url: URL, preparedStatements: false, poolSize: 7 } });
    expect(dataSource.options).toMatchObject({ poolSize: 7, extra: { Client: ResilientClient } });
  });
});

describe('a connection', () => {
  const counted = (failures: number) => {
    const calls = { initialize: 0, destroy: 0 };
    const initialize = async (): Promise<void> => {
      calls.initialize += 1;
      if (calls.initialize <= failures) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    };
    const destroy = async (): Promise<void> => void (calls.destroy += 1);
    return { calls, dataSource: { isInitialized: true, initialize, destroy } as unknown as DataSource };
  };

  it('of the host is neither opened nor ended', async () => {
    const { calls, dataSource } = counted(0);
    await openConnection({ dataSource, ownsConnection: false }, new ManualClock());
    await endConnection({ dataSource, ownsConnection: false });
    expect(calls).toEqual({ initialize: 0, destroy: 0 });
  });

  it('of our own is opened once its server is there, and ended', async () => {
    const { calls, dataSource } = counted(1);
    const clock = Object.assign(new ManualClock(), { sleep: async () => undefined });
    await openConnection({ dataSource, ownsConnection: true }, clock);
    await endConnection({ dataSource, ownsConnection: true });
    expect(calls).toEqual({ initialize: 2, destroy: 1 });
  });

  it('of our own that was never opened is not ended', async () => {
    const { calls, dataSource } = counted(0);
    await endConnection({ dataSource: { ...dataSource, isInitialized: false } as DataSource, ownsConnection: true });
    expect(calls.destroy).toBe(0);
  });
});
