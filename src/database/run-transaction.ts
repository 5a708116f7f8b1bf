import { type DataSource, type EntityManager } from 'typeorm';
import { SystemClock } from '../clock';
import { isCanceled, isLockTimeout, isRetryableConflict } from './database-errors';
import { isEntityManager } from './host-transactions/is-entity-manager';
import { managerOf } from './host-transactions/manager-of';
import { oneAtATime } from './host-transactions/one-at-a-time';
import { type Transaction } from './host-transactions/transaction';
import { lockPatienceOf } from './lock-patience';
import { ownTransaction } from './own-transaction';

const CONFLICT_TRIES = 3;
/** A host's transaction may hold a row for a second. A longer wait would keep a request open for nothing. */
const WAIT_MS = 2_000;
/** Before the second try, + 0-100 %, and twice as long before each further one. No lock and no connection is held meanwhile. */
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 100;

const clock = new SystemClock();

/**
 * Runs `work` in a transaction of its own, again from the start after a deadlock or a serialization failure. Inside
 * the caller's transaction it runs in a savepoint instead, and is not repeated, because the caller's snapshot stays the same.
 *
 * @throws 55P03 if a row stays locked for two seconds, and UnusableTransactionError.
 */
export async function runTransaction<T>(
  dataSource: DataSource,
  tx: Transaction | undefined,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  if (tx) return inSavepoint(dataSource, tx, work);
  const patience = lockPatienceOf(dataSource);
  return retryConflicts(() => ownTransaction(dataSource, work, { lockMs: patience.limitMs(WAIT_MS) }));
}

async function inSavepoint<T>(
  dataSource: DataSource,
  tx: Transaction,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  const caller = managerOf(dataSource, tx);
  return oneAtATime(isEntityManager(tx) ? (tx.queryRunner ?? tx) : tx, () => caller.transaction(work));
}

/**
 * Runs `work`, which sends a single statement, in the caller's transaction. In one of another library it runs in
 * a savepoint, because PostgreSQL refuses a savepoint when the transaction has ended, and commits a statement.
 *
 * @throws UnusableTransactionError
 */
export async function joinTransaction<T>(
  dataSource: DataSource,
  tx: Transaction,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  return isEntityManager(tx) ? work(managerOf(dataSource, tx)) : inSavepoint(dataSource, tx, work);
}

/**
 * Repeats a transaction that met a deadlock or a serialization failure, or, for two seconds, a locked row or a canceled
 * statement. With waits of 2 ms for a contended row, PostgreSQL 15 reported 3 of 18,000 lock time-outs as cancellations.
 */
export async function retryConflicts<T>(transaction: () => Promise<T>): Promise<T> {
  const endsAtMs = clock.monotonic() + WAIT_MS;
  let pauseMs = PAUSE_MS;
  for (let conflicts = 0; ;) {
    try {
      return await transaction();
    } catch (error) {
      // A statement that was canceled because it took 8 s is not repeated: the two seconds are over.
      if (isLockTimeout(error) || isCanceled(error)) {
        if (clock.monotonic() >= endsAtMs) throw error;
        await clock.sleep(pauseMs * (1 + Math.random()));
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      } else if (!isRetryableConflict(error) || ++conflicts >= CONFLICT_TRIES) throw error;
    }
  }
}
