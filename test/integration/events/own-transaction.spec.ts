import { type EntityManager } from 'typeorm';
import { ownTransaction } from '../../../src/database';
import { type TransactionLimits } from '../../../src/database/transaction';
import { createDatabase, type TestDatabase } from '../../support/database';

describe('a transaction of our own in the pool of a host that sets no limits', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const inOwn = <T>(work: (tx: EntityManager) => Promise<T>, limits?: TransactionLimits) =>
    ownTransaction(database.dataSource, work, limits);
  const setting = async (tx: EntityManager, name: string): Promise<unknown> => {
    const [row] = await tx.query<{ value: string }[]>('SELECT current_setting($1) AS value', [name]);
    return row?.value;
  };
  const SETTINGS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'];
  const settings = (tx: EntityManager) =>
    SETTINGS.reduce<Promise<unknown[]>>(
      async (found, name) => [...(await found), await setting(tx, name)],
      Promise.resolve([]),
    );

  it('has limits that the server keeps', async () => {
    expect(await inOwn(settings)).toEqual(['8s', '0', '5s']);
    expect(await inOwn(settings, { statementMs: 250, lockMs: 100, idleMs: 0 })).toEqual(['250ms', '100ms', '0']);
  });

  it('leaves none of them to the session', async () => {
    await inOwn(settings, { lockMs: 100 });
    expect(await settings(database.dataSource.manager)).toEqual(['0', '0', '0']);
  });

  it('is cancelled where a statement takes too long', async () => {
    await expect(inOwn((tx) => tx.query('SELECT pg_sleep(30)'), { statementMs: 50 })).rejects.toMatchObject({
      code: '57014',
    });
  });

  it('does not wait for a lock beyond its limit', async () => {
    await inOwn(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(4711)');
      const second = inOwn((other) => other.query('SELECT pg_advisory_xact_lock(4711)'), { lockMs: 50 });
      await expect(second).rejects.toMatchObject({ code: '55P03' });
    });
  });
});
