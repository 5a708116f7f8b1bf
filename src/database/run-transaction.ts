import { ownTransaction } from './own-transaction';
import { type DataSource, type EntityManager } from 'typeorm';
import { isRetryableConflict } from './database-errors';

const TRIES = 3;
/** A host's transaction may hold a row for a second. A longer wait would keep a connection from other requests. */
const LOCK_LIMIT_MS = 2_000;

/**
 * Runs `work` in a transaction of its own, again from the start after a deadlock or a serialization failure. Inside
 * the caller's transaction it runs in a savepoint instead, and is not repeated, because the caller's snapshot stays the same. A
 * wait for a lock ends with 55P03 after `lockMs`.
 */
export async function runTransaction<T>(
  dataSource: DataSource,
  caller: EntityManager | undefined,
  work: (tx: EntityManager) => Promise<T>,
  lockMs = LOCK_LIMIT_MS,
): Promise<T> {
  if (caller) return caller.transaction(work);
  for (let tries = 1; ; tries++) {
    try {
      return await ownTransaction(dataSource, work, { lockMs });
    } catch (error) {
      if (tries >= TRIES || !isRetryableConflict(error)) throw error;
    }
  }
}
