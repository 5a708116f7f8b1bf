import { runTransaction } from '../../../src/database/transaction';
import { createDatabase, type TestDatabase } from '../../support/database';

describe('a transaction of our own', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const tables = () => ({ dataSource: database.dataSource, schema: 'order_timeout' });

  it('is repeated after its statement was canceled, because a lock time-out may be reported as that', async () => {
    const cancel = 'SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(1)';
    const statements = [cancel, cancel, 'SELECT 1 AS one'];
    const result = await runTransaction(tables(), undefined, (tx) => tx.query<unknown[]>(statements.shift() ?? ''));
    expect(result).toEqual([{ one: 1 }]);
    expect(statements).toEqual([]);
  });

  it('is not repeated for more than two seconds', async () => {
    const beganAt = performance.now();
    const endless = runTransaction(tables(), undefined, (tx) =>
      tx.query('SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(1)'),
    );
    await expect(endless).rejects.toMatchObject({ driverError: { code: '57014' } });
    expect(performance.now() - beganAt).toBeGreaterThan(1_900);
  });
});
