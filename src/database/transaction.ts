import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { SystemClock, type Clock } from '../clock';
import { isCanceled, isLockTimeout, isRetryableConflict } from './database-errors';
import { hostBaseOf, HostCall, managerOf, oneAtATime, type Statements } from './host-transactions/host-call';
import { isEntityManager, type Transaction, ENDING } from './host-transactions/transaction';
import {
  assertCommits,
  isOwn,
  interceptQueries,
  markOwn,
  noteCommit,
  noteUnusable,
  onOwnConnection,
  ownQuery,
  STATEMENT_MS,
} from './own-connection';
import { explainAborted, hasEnded, isAborted } from './host-transactions/explain-failure';

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
  return isOwn(tx) ? work(tx) : inSavepoint(tables, tx, work);
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

/** The transaction in which a call writes. */
export interface TransactionOptions {
  /**
   * The caller's transaction: what the call writes exists if, and only if, it commits. An EntityManager of TypeORM, a
   * client of `pg`, or the result of `fromPrisma`, `fromDrizzle`, `fromKysely`, `fromKnex`, or `fromMikroOrm`.
   * Absent: a transaction of its own, which has committed when the call resolves.
   */
  readonly tx?: Transaction | undefined;
}

/**
 * How long our transactions wait for a lock. They hold one for about 20 ms themselves. deadlock_timeout is 1 s, so a deadlock
 * ends here before PostgreSQL looks for it. If a row is locked for longer, what needs it is tried again later.
 */
export const LOCK_LIMIT_MS = 500;

/** While a row is known to be locked: as good as no wait. */
const SHORT_MS = 2;

const SHORT_FOR_MS = 2_000;

/** After that, until two more seconds have shown that no row is locked for long: enough for five of our transactions. */
const PROBATION_MS = 100;

const PROBATION_FOR_MS = 2_000;

/**
 * Allows long waits until one fails, and then hardly any for two seconds. A transaction that waits for one SKU holds those
 * that it has locked before: with waits of 500 ms, 17 orders per second that need one locked SKU keep the other SKUs locked all
 * the time, and no order of these is closed.
 */
export class LockPatience {
  private failedAtMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** A row is known to be locked for long. */
  get isShort(): boolean {
    return this.limitMs() === SHORT_MS;
  }

  /** Milliseconds that the next transaction may wait for a lock. @param calmMs while no row is known to be locked for long */
  limitMs(calmMs = LOCK_LIMIT_MS): number {
    const sinceMs = this.clock.monotonic() - this.failedAtMs;
    if (sinceMs < SHORT_FOR_MS) return SHORT_MS;
    return sinceMs < SHORT_FOR_MS + PROBATION_FOR_MS ? Math.min(PROBATION_MS, calmMs) : calmMs;
  }

  /** Call it when a wait for a lock failed after `limitMs`. Short waits fail when two of our transactions meet, and say nothing. */
  waitedInVain(limitMs: number): void {
    const isOnProbation = this.limitMs() === PROBATION_MS;
    if (limitMs >= (isOnProbation ? PROBATION_MS : LOCK_LIMIT_MS)) this.failedAtMs = this.clock.monotonic();
  }
}

const patienceByDataSource = new WeakMap<DataSource, LockPatience>();

/** The patience that all transactions on this DataSource share: what one of them finds locked, the others need not find out. */
export function lockPatienceOf(dataSource: DataSource): LockPatience {
  const known = patienceByDataSource.get(dataSource);
  if (known) return known;
  const patience = new LockPatience(new SystemClock());
  patienceByDataSource.set(dataSource, patience);
  return patience;
}

const SHORTEST_MS = 200;

/** Also the longest delay from the release of a lock until the timeout is decided. */
const LONGEST_MS = 4_000;

/** An eighth of the lateness: some 35 tries in the first half minute, however many rows wait. */
const SHARE = 1 / 8;

/** + 0-20 %, so that timeouts that wait together do not come back together. */
const JITTER = 0.2;

/** Milliseconds until the next try of a timeout that is late by `lateMs` because a row is locked. `random` is in [0, 1). */
export function contentionBackoffMs(lateMs: number, random: number): number {
  const base = Math.min(Math.max(lateMs * SHARE, SHORTEST_MS), LONGEST_MS);
  return Math.round(base * (1 + JITTER * random));
}

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

export interface OwnTransactionOptions extends TransactionLimits {
  /** Requests can do without it: the table that it may not use says nothing about them. @default false */
  readonly isAside?: boolean;
}

/** A frozen process, or a machine that is gone, keeps its locks this long. Our transactions hardly pause. */
const IDLE_MS = 5_000;

/** Fails in a transaction that is aborted, and outside of one. COMMIT does not: it rolls an aborted one back, as a success. */
const PROBE = 'SAVEPOINT order_timeout_commits';

/**
 * Runs `work` in a transaction of our own at READ COMMITTED, whatever the database, role, or DataSource defaults to. What
 * is decided under a row's lock must see everything that was committed before the lock was granted; at the stricter
 * levels a transaction reads a snapshot from before it waited. Its limits go with the transaction and not with the session,
 * so they hold in a host's pool and behind PgBouncer as well.
 *
 * @throws AbortedTransactionError if `work` has caught the error of a statement; then nothing was written. NoAnswerError
 *   while commits wait for a synchronous standby.
 */
export async function ownTransaction<T>(
  dataSource: DataSource,
  work: (tx: EntityManager) => Promise<T>,
  { isAside = false, ...limits }: OwnTransactionOptions = {},
): Promise<T> {
  await assertCommits(dataSource);
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

/** The database that holds our tables. Inject it. */
export class Database implements Tables {
  /** @param schema validated name of the PostgreSQL schema. */
  constructor(
    readonly dataSource: DataSource,
    readonly schema: string,
  ) {}

  /** Runs one statement outside of a transaction; see `ownQuery`. */
  query<T>(sql: string, parameters?: unknown[]): Promise<T> {
    return ownQuery(this.dataSource, sql, parameters);
  }

  /** Runs `work` once, in a transaction of its own; see `ownTransaction`. */
  transaction<T>(work: (tx: EntityManager) => Promise<T>, options?: OwnTransactionOptions): Promise<T> {
    return ownTransaction(this.dataSource, work, options);
  }

  /** Runs `work` in the caller's transaction, or else in one of its own, again after a conflict; see `runTransaction`. */
  run<T>(tx: Transaction | undefined, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return runTransaction(this, tx, work);
  }
}

/** Composes the texts of statements, once for each schema. */
export function statements<T>(compose: (schema: string) => T): (tables: Pick<Tables, 'schema'>) => T {
  const composed = new Map<string, T>();
  return ({ schema }) => {
    const known = composed.get(schema);
    if (known !== undefined) return known;
    const made = compose(schema);
    composed.set(schema, made);
    return made;
  };
}
