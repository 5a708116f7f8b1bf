import { ownTransaction } from '../events';
import { type DataSource, type EntityManager } from 'typeorm';

/** serialization_failure and deadlock_detected: the same transaction may well succeed now. */
const RETRYABLE = new Set(['40001', '40P01']);
const TRIES = 3;

/**
 * Runs `work` in a transaction of its own, again from the start after a deadlock or a serialization failure. Inside
 * the caller's transaction it runs in a savepoint instead, and is not repeated: the caller's snapshot is spent.
 */
export async function runTransaction<T>(
  dataSource: DataSource,
  caller: EntityManager | undefined,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  if (caller) return caller.transaction(work);
  for (let tries = 1; ; tries++) {
    try {
      return await ownTransaction(dataSource, work);
    } catch (error) {
      if (tries >= TRIES || !isRetryable(error)) throw error;
    }
  }
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as Error & { code?: unknown };
  return typeof code === 'string' && RETRYABLE.has(code);
}
