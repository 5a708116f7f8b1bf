import { type DataSource } from 'typeorm';
import { isDatabaseUnavailable, onOwnConnection, ownQuery } from '../../../src/database';
import { canWrite } from '../../../src/database/own-connection';
import { NoAnswerError } from '../../../src/database/errors';
import { connectTo, createDatabase, type TestDatabase } from '../../support/database';
import { until } from '../../support/engine';

describe('a connection of our own in the pool of a host that sets no limits', () => {
  let database: TestDatabase;
  let pool: DataSource;

  beforeAll(async () => {
    database = await createDatabase();
    pool = await connectTo(database.url, 1);
  });
  afterAll(async () => {
    await pool.destroy();
    await database.drop();
  });

  const pid = async (): Promise<number> => {
    const [row] = await ownQuery<{ pid: number }[]>(pool, 'SELECT pg_backend_pid() AS pid');
    return row?.pid ?? NaN;
  };
  const isAsleep = async (): Promise<boolean> => {
    const sql = `SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'`;
    return (await database.dataSource.query<unknown[]>(sql)).length > 0;
  };
  const failure = (work: Promise<unknown>): Promise<Error> =>
    work.then(
      () => new Error('it did not fail'),
      (error: unknown) => error as Error,
    );

  it('is closed when no answer comes, and the server stops the statement', async () => {
    const before = await pid();
    const limited = onOwnConnection(pool, 100, (runner) => runner.query('SELECT pg_sleep(60)'));
    const error = await failure(limited);
    // True for the service, which tries its work again, and for the command line, which does not.
    expect(error.message).toContain(
      'ORDER_TIMEOUT/DATABASE_NO_ANSWER: the database has not answered within 1100 ms; the statement may have been ' +
        'executed, so look before you repeat it by hand',
    );
    expect(isDatabaseUnavailable(error)).toBe(true);
    await until(async () => !(await isAsleep()));
    expect(await pid()).not.toBe(before);
  });

  it('is not waited for longer than ten seconds, and goes back to the pool when it comes after all', async () => {
    const busy = pool.createQueryRunner();
    await busy.connect();
    const error = await failure(ownQuery(pool, 'SELECT 1'));
    expect(error).toBeInstanceOf(NoAnswerError);
    expect(error.message).toMatch(
      /no connection within 10000 ms; nothing was sent \(docs\/database.md, "Your pool"\)$/,
    );
    expect(isDatabaseUnavailable(error)).toBe(true);
    await busy.release();
    expect(await pid()).toBeGreaterThan(0);
  });

  it('is closed when its session takes no writes', async () => {
    expect(await canWrite(pool)).toBe(true);
    const before = await pid();
    await pool.query('SET default_transaction_read_only = on');
    const error = await failure(canWrite(pool));
    expect(error.message).toContain('ORDER_TIMEOUT/DATABASE_READ_ONLY');
    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(await canWrite(pool)).toBe(true);
    expect(await pid()).not.toBe(before);
  });

  it('is kept after an error that says nothing of the session', async () => {
    const before = await pid();
    await expect(ownQuery(pool, 'SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
    expect(await pid()).toBe(before);
  });
});
