import { ownTransaction } from '../events';
import { type DataSource, type EntityManager } from 'typeorm';
import { isRetryableConflict } from '../timeouts';

const TRIES = 3;
/** A host's transaction may well hold a row for a second. Whoever waits longer takes a connection from the others. */
const LOCK_LIMIT_MS = 2_000;

/**
 * Runs `work` in a transaction of its own, again from the start after a deadlock or a serialization failure. Inside
 * the caller's transaction it runs in a savepoint instead, and is not repeated: the caller's snapshot is spent. Whoever
 * needs a row that somebody else holds for longer than `lockMs` gets 55P03, and leaves the connection to the others.
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
