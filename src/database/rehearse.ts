import { type DataSource, type EntityManager } from 'typeorm';
import { ExpectedRollback } from './expected-rollback';
import { ownTransaction } from './own-transaction';

/** Ends the transaction of a rehearsal. */
class RehearsalEnded extends ExpectedRollback {}

/**
 * Runs `work` in a transaction of our own that is rolled back, and returns its result: what it would do now. It takes
 * the same locks as the real work, for as long as the work takes.
 */
export async function rehearse<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  const outcome: { result?: T } = {};
  await ownTransaction(dataSource, async (tx) => {
    outcome.result = await work(tx);
    throw new RehearsalEnded('the transaction of a rehearsal is rolled back');
  }).catch((error: unknown) => {
    if (!(error instanceof RehearsalEnded)) throw error;
  });
  return outcome.result as T;
}
