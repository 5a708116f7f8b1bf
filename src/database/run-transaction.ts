import { type DataSource, type EntityManager } from 'typeorm';
import { SystemClock } from '../clock';
import { isCanceled, isLockTimeout, isRetryableConflict } from './database-errors';
import { hostBaseOf } from './host-transactions/host-base';
import { HostCall } from './host-transactions/host-call';
import { isEntityManager } from './host-transactions/is-entity-manager';
import { managerOf } from './host-transactions/manager-of';
import { oneAtATime } from './host-transactions/one-at-a-time';
import { type Statements } from './host-transactions/statements-of';
import { type Transaction } from './host-transactions/transaction';
import { lockPatienceOf } from './lock-patience';
import { isOwn } from './own-runners';
import { ownTransaction } from './own-transaction';

const CONFLICT_TRIES = 3;
/** A host's transaction may hold a row for a second. A longer wait would keep a request open for nothing. */
const WAIT_MS = 2_000;
/** Before the second try, + 0-100 %, and twice as long before each further one. No lock and no connection is held meanwhile. */
const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 100;

const clock = new SystemClock();

/** Where our tables are. */
export interface Tables {
  readonly dataSource: DataSource;
  readonly schema: string;
}

/**
 * Runs `work` in a transaction of its own, again from the start after a deadlock or a serialization failure. Inside
 * the caller's transaction it runs in a savepoint instead, and is not repeated, because the caller's snapshot stays the same.
 *
 * @throws 55P03 if a row stays locked for two seconds, UnusableTransactionError, and AbortedTransactionError.
 */
export async function runTransaction<T>(
  tables: Tables,
  tx: Transaction | undefined,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  if (tx) return inSavepoint(tables, tx, work);
  const { dataSource } = tables;
  const patience = lockPatienceOf(dataSource);
  return retryConflicts(() => ownTransaction(dataSource, work, { lockMs: patience.limitMs(WAIT_MS) }));
}

/**
 * Runs `work`, which sends a single statement, in the caller's transaction. In that of a host, it runs in a savepoint.
 *
 * @throws UnusableTransactionError
 */
export async function joinTransaction<T>(
  tables: Tables,
  tx: Transaction,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  return isEntityManager(tx) && isOwn(tx) ? work(tx) : inSavepoint(tables, tx, work);
}

/**
 * Like `joinTransaction`, where no DataSource is at hand. A manager that is in no transaction commits each statement.
 *
 * @throws UnusableTransactionError
 */
export async function joinStatements<T>(
  schema: string,
  tx: Transaction,
  work: (statements: Statements) => Promise<T>,
): Promise<T> {
  if (isEntityManager(tx)) {
    const isOfHost = tx.queryRunner?.isTransactionActive === true && !isOwn(tx);
    return isOfHost ? inCall(schema, tx, ({ query }) => work({ query: query as Statements['query'] })) : work(tx);
  }
  return inCall(schema, tx, ({ query }) =>
    work({ query: async <R>(...statement: [string, unknown[]?]) => ((await query(...statement)) as { rows: R }).rows }),
  );
}

function inSavepoint<T>(
  { dataSource, schema }: Tables,
  tx: Transaction,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  return inCall(schema, tx, (call) => work(managerOf(dataSource, tx, call)));
}

async function inCall<T>(schema: string, tx: Transaction, work: (call: HostCall) => Promise<T>): Promise<T> {
  const host = hostBaseOf(tx);
  return oneAtATime(host.key, async () => {
    const call = new HostCall(host, schema);
    try {
      await call.open();
      const result = await work(call);
      await call.close();
      return result;
    } catch (error) {
      throw await call.undo(error);
    }
  });
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
