import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { interceptQueries } from './intercept-queries';
import { onOwnConnection, STATEMENT_MS } from './on-own-connection';

const LEVEL = 'READ COMMITTED';

/** What the server may spend on one of our transactions, milliseconds; 0: no limit. */
export interface TransactionLimits {
  /** A statement that takes longer is cancelled (57014). @default 8000 */
  readonly statementMs?: number;
  /** Waiting longer for a lock ends the statement (55P03). @default 0 */
  readonly lockMs?: number;
  /** A pause between two statements that is longer ends the session (25P03), and with it its locks. @default 5000 */
  readonly idleMs?: number;
}

/** A frozen process, or a machine that is gone, keeps its locks this long. Our transactions never pause. */
const IDLE_MS = 5_000;

/**
 * Runs `work` in a transaction of our own at READ COMMITTED, whatever the database, role, or DataSource defaults to. What
 * is decided under a row's lock must see everything that was committed before the lock was granted; at the stricter
 * levels a transaction reads a snapshot from before it waited. Its limits go with the transaction and not with the session,
 * so they hold in a host's pool and behind PgBouncer as well.
 */
export async function ownTransaction<T>(
  dataSource: DataSource,
  work: (tx: EntityManager) => Promise<T>,
  limits: TransactionLimits = {},
): Promise<T> {
  return onOwnConnection(dataSource, limits.statementMs ?? STATEMENT_MS, async (runner) => {
    try {
      await begin(runner, limits);
      const result = await work(runner.manager);
      await runner.commitTransaction();
      return result;
    } catch (error) {
      // The first error says why; on a lost connection the rollback fails too.
      await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    }
  });
}

/**
 * Begins with the level and the limits in the same message. TypeORM sends the level in one of its own: a sixth round trip
 * for an order that is placed in five. If a TypeORM release words these statements differently, it costs two round trips and
 * nothing else.
 */
async function begin(runner: QueryRunner, limits: TransactionLimits): Promise<void> {
  const setLimits = limitsSql(limits);
  let hasNamedLevel = false;
  let isLimited = false;
  const restore = interceptQueries(runner, (send) => (sql, ...rest) => {
    if (hasNamedLevel && sql === `SET TRANSACTION ISOLATION LEVEL ${LEVEL}`) return Promise.resolve();
    hasNamedLevel = sql === 'START TRANSACTION';
    isLimited ||= hasNamedLevel;
    return send(hasNamedLevel ? `START TRANSACTION ISOLATION LEVEL ${LEVEL}; ${setLimits}` : sql, ...rest);
  });
  try {
    await runner.startTransaction(LEVEL);
    if (!isLimited) await runner.query(setLimits);
  } finally {
    restore();
  }
}

function limitsSql({ statementMs = STATEMENT_MS, lockMs = 0, idleMs = IDLE_MS }: TransactionLimits): string {
  const limits = { statement_timeout: statementMs, lock_timeout: lockMs, idle_in_transaction_session_timeout: idleMs };
  return Object.entries(limits)
    .map(([name, ms]) => `SET LOCAL ${name} = ${ms}`)
    .join('; ');
}
