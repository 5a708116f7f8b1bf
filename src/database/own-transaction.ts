import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { explainAborted, hasEnded, isAborted } from './host-transactions/explain-failure';
import { ENDING } from './host-transactions/transaction';
import { interceptQueries, markOwn, onOwnConnection, STATEMENT_MS } from './own-connection';
import { noteCommit, noteUnusable } from './database-errors';

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

interface OwnTransactionOptions extends TransactionLimits {
  /** Requests can do without it: the table that it may not use says nothing about them. @default false */
  readonly isAside?: boolean;
}

/** A frozen process, or a machine that is gone, keeps its locks this long. Our transactions never pause. */
const IDLE_MS = 5_000;

/** Fails in a transaction that is aborted, and outside of one. COMMIT does not: it rolls an aborted one back, as a success. */
const PROBE = 'SAVEPOINT order_timeout_commits';

/**
 * Runs `work` in a transaction of our own at READ COMMITTED, whatever the database, role, or DataSource defaults to. What
 * is decided under a row's lock must see everything that was committed before the lock was granted; at the stricter
 * levels a transaction reads a snapshot from before it waited. Its limits go with the transaction and not with the session,
 * so they hold in a host's pool and behind PgBouncer as well.
 *
 * @throws AbortedTransactionError if `work` has caught the error of a statement; then nothing was written.
 */
export async function ownTransaction<T>(
  dataSource: DataSource,
  work: (tx: EntityManager) => Promise<T>,
  { isAside = false, ...limits }: OwnTransactionOptions = {},
): Promise<T> {
  return onOwnConnection(dataSource, limits.statementMs ?? STATEMENT_MS, async (runner) => {
    markOwn(runner);
    const statements = new OwnStatements(runner);
    try {
      await statements.begin(limits);
      const result = await work(runner.manager);
      await statements.commit();
      noteCommit(dataSource);
      return result;
    } catch (error) {
      await statements.rollBack();
      if (!isAside) noteUnusable(dataSource, statements.failure ?? error);
      throw explainAborted(error, statements.failure);
    }
  });
}

/** The statements of a transaction. After its end, nothing that listeners and handlers still send may commit by itself. */
class OwnStatements {
  /** The last failed statement, whose error may have been caught. */
  failure: unknown;
  private mayEnd = true;
  private hasBegun = false;
  private isOver = false;

  constructor(private readonly runner: QueryRunner) {
    interceptQueries(runner, (send) => async (sql, ...rest) => {
      const isEnd = ENDING.test(String(sql));
      if (isEnd && !this.mayEnd) throw new Error(`only its owner may begin or end a transaction: ${String(sql)}`);
      if (this.isOver && !isEnd) throw hasEnded();
      this.isOver ||= isEnd && this.hasBegun;
      try {
        return await send(sql === 'COMMIT' ? `${PROBE}; COMMIT` : sql, ...rest);
      } catch (error) {
        if (!isAborted(error)) this.failure = error;
        throw error;
      }
    });
  }

  async begin(limits: TransactionLimits): Promise<void> {
    await begin(this.runner, limits);
    this.mayEnd = false;
    this.hasBegun = true;
  }

  async commit(): Promise<void> {
    this.mayEnd = true;
    await this.runner.commitTransaction();
    // TypeORM has only released a savepoint.
    if (this.runner.isTransactionActive) throw new Error('a nested transaction still runs; await it');
  }

  /** Of nested transactions that still run, too; TypeORM would only roll back the innermost one. */
  async rollBack(): Promise<void> {
    this.mayEnd = true;
    try {
      // The first error says why; on a lost connection the rollback fails too.
      while (this.runner.isTransactionActive) await this.runner.rollbackTransaction();
    } catch {
      // A subscriber of the host may have kept TypeORM from it.
      await this.runner.query('ROLLBACK').catch(() => undefined);
    }
  }
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
