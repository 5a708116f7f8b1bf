import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { AsyncLocalStorage } from 'node:async_hooks';
import { present } from '../../errors';
import { markOwn, interceptQueries } from '../own-connection';
import { ExpectedRollback } from '../errors';
import {
  isEntityManager,
  type Transaction,
  assertQueryable,
  HostConnection,
  type Queryable,
  UnusableTransactionError,
  assertNotEnding,
  ENDING,
} from './transaction';
import {
  explainFailure,
  hasEnded,
  explainAborted,
  explainControl,
  isAborted,
  saysEnded,
  guarded,
  openCursor,
} from './explain-failure';

/** Before release 1.0 of TypeORM, it has `connection` only. */
interface AnyRunner {
  readonly dataSource?: DataSource;
  readonly connection?: DataSource;
}

let managers = 0;

/**
 * A manager whose statements are those of the call, in the caller's transaction, whichever library that belongs to. Its
 * runner is never that of the host. TypeORM counts savepoints in the runner: a host that rolls back while a call is
 * running would roll back to the savepoint of the call only, and give the connection back in its transaction.
 */
export function managerOf(dataSource: DataSource, tx: Transaction, call: HostCall): EntityManager {
  const { query } = call;
  const runner = isEntityManager(tx)
    ? besides(activeRunnerOf(tx), query)
    : Object.assign(dataSource.createQueryRunner(), { connect: () => Promise.resolve({ query }) });
  markOwn(runner);
  // A transaction within it is a savepoint, as in every manager that is in a transaction; each with names of its own.
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 1_000 * ++managers });
  return runner.manager;
}

/** It has the entities of the host, and shares what its subscribers know of the transaction. */
function besides(host: QueryRunner, query: HostCall['query']): QueryRunner {
  const { dataSource, connection } = host as AnyRunner;
  const runner = present(dataSource ?? connection, 'the DataSource of a query runner').createQueryRunner();
  // It never takes a connection of the pool, so there is nothing to release.
  return Object.assign(runner, { query, connect: () => host.connect(), data: host.data });
}

/** What runs single statements. A statement that returns rows gives an array of them. */
export type Statements = Pick<EntityManager, 'query'>;

/** Runs what only reads, in a transaction or not. @throws UnusableTransactionError */
export function statementsOf(tx: Transaction): Statements {
  if (isEntityManager(tx)) return tx;
  assertQueryable(tx);
  const connection = new HostConnection(tx);
  const read = (sql: string, parameters?: unknown[]) =>
    connection.query(sql, parameters).catch((error: unknown) => {
      throw explainFailure(error);
    });
  return {
    query: async <T>(sql: string, parameters?: unknown[]) =>
      (await oneAtATime(tx, () => read(sql, parameters))).rows as T,
  };
}

/** Runs a statement in the host's transaction. */
type Base = (sql: string, parameters?: unknown[], structured?: boolean) => Promise<unknown>;

/** What a call writes in. */
interface HostBase {
  /** Of the whole transaction, the same for each call in it. */
  readonly key: object;
  readonly send: Base;
  /** With which the host sends its own statements, too, if that is known. It takes several in one text. */
  readonly client?: { query(...given: never[]): unknown };
  /** @throws UnusableTransactionError when the transaction has ended */
  assertActive?(): void;
}

/** The transaction of any library. @throws UnusableTransactionError if it is none */
export function hostBaseOf(tx: Transaction): HostBase {
  return isEntityManager(tx) ? ofTypeOrm(tx) : ofQueryable(tx);
}

/** The runner of a transaction. @throws UnusableTransactionError */
function activeRunnerOf({ queryRunner }: EntityManager): QueryRunner {
  if (queryRunner?.isTransactionActive !== true) throw UnusableTransactionError.outside('TypeORM');
  return queryRunner;
}

function ofTypeOrm(tx: EntityManager): HostBase {
  const client = activeRunnerOf(tx);
  return {
    key: client,
    client,
    send: (sql, parameters, structured) => client.query(sql, parameters, structured as true),
    assertActive: () => {
      if (!client.isTransactionActive || client.isReleased) throw hasEnded();
    },
  };
}

function ofQueryable(tx: Queryable): HostBase {
  assertQueryable(tx);
  const connection = new HostConnection(tx);
  // A client of pg has them.
  const client = 'connectionParameters' in tx ? { client: tx } : {};
  return { key: tx, send: (sql, parameters) => connection.query(sql, parameters), ...client };
}

const OF_SAVEPOINT = /^\s*(SAVEPOINT|RELEASE|ROLLBACK\s+TO)\s+(?:SAVEPOINT\s+)?"?(\w+)/i;

let calls = 0;

/**
 * One call in a host's transaction: all that it writes is committed with the transaction, or nothing. A savepoint undoes it
 * when it fails. A cursor keeps the transaction from being committed meanwhile. Each statement that writes fails where the
 * cursor is not open: after the end of the transaction, where it would commit by itself, and in the next transaction on a
 * pooled connection.
 */
export class HostCall {
  private readonly name = `order_timeout_${++calls}`;
  private readonly host: HostBase;
  private readonly schema: string;
  /** Why nothing more is sent. */
  private refusal: Error | undefined;
  /** The savepoint is gone: rolled back, or released with one of the host around it. */
  private isUndone = false;
  private isReleased = false;
  /** Its savepoint is being released: what comes behind that would fail at the guard, and abort the host's transaction. */
  private isEnding = false;
  /** The last failed statement, whose error may have been caught. */
  private failure: unknown;
  /** Those that the host has opened meanwhile. */
  private readonly inner = new Set<string>();
  private unwatch = (): void => undefined;

  constructor(host: HostBase, schema: string) {
    this.host = host;
    this.schema = schema;
  }

  /** @throws UnusableTransactionError if the transaction has ended */
  async open(): Promise<void> {
    this.watch();
    await this.control(`SAVEPOINT ${this.name}`, openCursor(this.name));
  }

  /** Sends a statement of the call, or of a listener. */
  readonly query: Base = async (sql, parameters, structured) => {
    if (this.isEnding) throw callHasEnded();
    assertNotEnding(sql);
    const [text, values] = guarded(this.schema, this.name, sql, parameters);
    return this.send(text, values, structured);
  };

  /** The cursor last: a COMMIT that comes between the two fails, so it cannot be taken for one that came before. */
  async close(): Promise<void> {
    const release = this.isReleased ? [] : [`RELEASE SAVEPOINT ${this.name}`];
    this.isEnding = true;
    await this.control(...release, `CLOSE ${this.name}`);
    this.end();
  }

  /** Leaves nothing of the call. Returns the error that the caller gets. */
  async undo(error: unknown): Promise<unknown> {
    this.end();
    // A savepoint that is gone would be an error, which aborts a transaction that goes on.
    if (!this.isUndone && !this.isReleased)
      await this.host.send(`ROLLBACK TO SAVEPOINT ${this.name}`).catch(() => undefined);
    return explainAborted(explainFailure(error, this.schema), this.failure);
  }

  /** What a listener still sends is refused. */
  private end(): void {
    this.unwatch();
    this.refusal ??= callHasEnded();
  }

  /** Savepoint and cursor, in one round trip where that is possible. */
  private async control(...statements: string[]): Promise<void> {
    try {
      for (const sql of this.host.client ? [statements.join('; ')] : statements) await this.send(sql);
    } catch (error) {
      throw this.noted(explainControl(error));
    }
  }

  private async send(...statement: Parameters<Base>): Promise<unknown> {
    if (this.refusal) throw this.refusal;
    try {
      this.host.assertActive?.();
      return await this.host.send(...statement);
    } catch (error) {
      if (!isAborted(error)) this.failure = error;
      throw this.noted(explainFailure(error, this.schema));
    }
  }

  private noted(error: unknown): unknown {
    if (saysEnded(error)) this.lose(error as Error);
    return error;
  }

  /** The transaction is over, or the part of it that the call was in. */
  private lose(why: Error): void {
    this.refusal ??= why;
    this.isUndone = true;
  }

  /** From the moment when the host sends the end of its transaction, the call sends nothing. */
  private watch(): void {
    const { client, key } = this.host;
    if (!client) return;
    this.unwatch = interceptQueries(client, (send) => (...given) => {
      const sql = textOf(given[0]);
      if (ENDING.test(sql)) this.lose(hasEnded());
      else if (!isWithinCall(key)) this.noteSavepoint(sql);
      return send(...given);
    });
  }

  /** A savepoint of the host, sent beside the call. */
  private noteSavepoint(sql: string): void {
    const [, verb, name = ''] = OF_SAVEPOINT.exec(sql) ?? [];
    if (verb === undefined) return;
    const isInner = this.inner.has(name);
    if (/^SAVEPOINT/i.test(verb)) this.inner.add(name);
    else if (/^RELEASE/i.test(verb)) this.isReleased ||= !isInner;
    // What the call has written since is gone, so all of it must go.
    else if (isInner) this.refusal ??= hasEnded();
    else this.lose(hasEnded());
  }
}

function callHasEnded(): UnusableTransactionError {
  return new UnusableTransactionError(
    'the call that this transaction belongs to has ended; await each statement in the listener',
  );
}

/** Of a statement as TypeORM or `pg` take it. */
function textOf(given: unknown): string {
  const text = typeof given === 'string' ? given : (given as { readonly text?: unknown } | undefined)?.text;
  return typeof text === 'string' ? text : '';
}

/** A call that is running. The calls that its listeners make wait for each other, and not for it. */
interface Call {
  readonly tx: object;
}

const running = new AsyncLocalStorage<readonly Call[]>();

/** The last call of each transaction that is not over; and within a call, the last one of those that it makes. */
const lastCalls = new WeakMap<object, Promise<unknown>>();

/** Whether this code is part of a call in the transaction, such as a listener. */
function isWithinCall(tx: object): boolean {
  return (running.getStore() ?? []).some((call) => call.tx === tx);
}

/**
 * Runs the calls in a caller's transaction one after the other. The savepoints of two at once would lie in each other, so
 * one that is rolled back would take along what the other has reported as written.
 *
 * A call that waits behind one that fails is refused: a host that awaits them together rolls back at the first error.
 */
export function oneAtATime<T>(tx: object, work: () => Promise<T>): Promise<T> {
  const within = running.getStore() ?? [];
  const line = within.findLast((call) => call.tx === tx) ?? tx;
  const run = (): Promise<T> => running.run([...within, { tx }], work);
  const last = lastCalls.get(line);
  const call = last
    ? last.then(run, (cause: unknown) => (cause instanceof ExpectedRollback ? run() : refuse(cause)))
    : run();
  lastCalls.set(line, call);
  const leave = (): void => {
    if (lastCalls.get(line) === call) lastCalls.delete(line);
  };
  call.then(leave, leave);
  return call;
}

function refuse(cause: unknown): never {
  throw new UnusableTransactionError(
    'a call in this transaction failed while this one waited for it, so this one was not made; roll back, or handle the ' +
      'error and make this call again',
    { cause },
  );
}
