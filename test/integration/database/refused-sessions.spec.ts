import { type Pool } from 'pg';
import { isDatabaseUnavailable, isDatabaseWritable, onOwnConnection } from '../../../src/database';
import { createDatabase, type TestDatabase } from '../../support/database';

/** What a connect reports of TLS has a code of Node.js, or none; sessions that are open go on. */
describe('a server with which no new session can begin', () => {
  let database: TestDatabase;
  const insistOnTls = (ssl: boolean) => {
    const { master } = database.dataSource.driver as unknown as { readonly master: Pool };
    master.options.ssl = ssl;
  };

  beforeEach(async () => (database = await createDatabase()));
  afterEach(() => database.drop());

  it('is unavailable and not ready while it lacks TLS, whatever the open sessions say', async () => {
    await database.dataSource.query('SELECT 1');
    await onOwnConnection(database.dataSource, 1_000, async (runner) => {
      insistOnTls(true);
      const failure = await onOwnConnection(database.dataSource, 1_000, () => Promise.resolve()).catch(
        (error: unknown) => error,
      );
      expect(String(failure)).toContain('SSL');
      expect(isDatabaseUnavailable(failure)).toBe(true);
      expect(await runner.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
    expect(await isDatabaseWritable(database.dataSource)).toBe(false);
  });
});
