import { type DataSource, type EntityManager } from 'typeorm';
import { ownTransaction } from '../../database';

/** Carries the result out of the transaction, which it rolls back. */
class Rehearsed<T> extends Error {
  constructor(readonly result: T) {
    super('a dry run changes nothing');
  }
}

const LOCK_MS = 500;

/** Runs `work` and takes everything back. So a dry run decides by the same rules and rows as the real one. */
export async function rehearse<T>(dataSource: DataSource, work: (tx: EntityManager) => Promise<T>): Promise<T> {
  try {
    return await ownTransaction(
      dataSource,
      async (tx) => {
        throw new Rehearsed(await work(tx));
      },
      { lockMs: LOCK_MS },
    );
  } catch (error) {
    if (error instanceof Rehearsed) return error.result as T;
    throw error;
  }
}
