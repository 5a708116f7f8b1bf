import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';

const LEVEL = 'READ COMMITTED';

/**
 * Runs `work` in a transaction of our own at READ COMMITTED, whatever the database, role, or DataSource defaults to. What
 * is decided under a row's lock must see everything that was committed before the lock was granted; at the stricter
 * levels a transaction reads a snapshot from before it waited.
 */
export async function ownTransaction<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    await begin(runner);
    const result = await work(runner.manager);
    await runner.commitTransaction();
    return result;
  } catch (error) {
    // The first error says why; a connection that is gone cannot be rolled back either.
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  } finally {
    await runner.release();
  }
}

/**
 * Begins with the level in the same statement. TypeORM sends it in one of its own: a sixth round trip for an order that
 * is placed in five. A TypeORM that words these statements otherwise costs that round trip, and nothing else.
 */
async function begin(runner: QueryRunner): Promise<void> {
  const own = Object.getOwnPropertyDescriptor(runner, 'query');
  const send = runner.query.bind(runner) as (sql: string, ...rest: unknown[]) => Promise<unknown>;
  let isSaid = false;
  const query = (sql: string, ...rest: unknown[]): Promise<unknown> => {
    if (isSaid && sql === `SET TRANSACTION ISOLATION LEVEL ${LEVEL}`) return Promise.resolve();
    isSaid = sql === 'START TRANSACTION';
    return send(isSaid ? `${sql} ISOLATION LEVEL ${LEVEL}` : sql, ...rest);
  };
  Object.defineProperty(runner, 'query', { value: query, configurable: true });
  try {
    await runner.startTransaction(LEVEL);
  } finally {
    // Back to the method of the class, or to what somebody put in its place.
    if (own) Object.defineProperty(runner, 'query', own);
    else Reflect.deleteProperty(runner, 'query');
  }
}
