import { type EntityManager } from 'typeorm';
import { types } from 'node:util';
import { CodedError } from '../../errors';

/**
 * Runs statements in one transaction. A client of `pg` in a transaction is one, and the functions `fromPrisma`,
 * `fromDrizzle`, `fromKysely`, `fromKnex`, and `fromMikroOrm` make one of other libraries.
 */
export interface Queryable {
  /** Runs one statement with the placeholders `$1`, `$2`, and so on, and returns its rows as objects. */
  query(sql: string, parameters?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  /** A DataSource and a QueryRunner of TypeORM have one. Neither can be passed. */
  readonly manager?: never;
  /** A pool of `pg` has one. Each of its statements may run on another connection, so it cannot be passed. */
  readonly totalCount?: never;
}

/** A transaction of the caller. */
export type Transaction = EntityManager | Queryable;

/** By its methods, because a host may have a second copy of TypeORM. A DataSource has them, too. */
export function isEntityManager(tx: Transaction): tx is EntityManager {
  return typeof tx === 'object' && 'getRepository' in tx && 'query' in tx && !('createQueryRunner' in tx);
}

/** What only the host may send, perhaps behind comments. */
export const ENDING =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(START TRANSACTION|BEGIN|COMMIT|END|ABORT|PREPARE TRANSACTION|ROLLBACK(?!\s+TO\b))\b/i;

/** @throws for a statement that would begin or end a transaction */
export function assertNotEnding(sql: string): void {
  if (ENDING.test(sql)) throw new Error(`a statement of the package would begin or end the host's transaction: ${sql}`);
}

/** The connection of a host's transaction, with rows as `pg` gives them. It never begins or ends the transaction. */
export class HostConnection implements Queryable {
  constructor(private readonly tx: Queryable) {}

  async query(sql: string, parameters?: unknown[]): Promise<{ readonly rows: readonly object[] }> {
    assertNotEnding(sql);
    const answer: unknown = await this.tx.query(sql, parameters);
    // Of several statements in one text, which pg alone gets.
    const result = (Array.isArray(answer) ? answer.at(-1) : answer) as Partial<Awaited<ReturnType<Queryable['query']>>>;
    if (!Array.isArray(result?.rows))
      throw new UnusableTransactionError('tx.query(sql, parameters) must return { rows }');
    return { ...result, rows: result.rows.map(plainRow) };
  }
}

/** A property by which an object is known that is no transaction, and what to pass instead. */
const OTHERS: readonly (readonly [string, string])[] = [
  // Each statement of a pool may run on another connection.
  ['totalCount', 'tx is a pool; pass the client of pool.connect() on which you ran BEGIN'],
  ['createQueryRunner', 'tx is a DataSource; pass the EntityManager that the function of your transaction receives'],
  ['manager', 'tx is a QueryRunner; pass queryRunner.manager'],
];

/** A method by which a library is known, and what to pass instead. */
const LIBRARIES: readonly (readonly [string, string])[] = [
  ['$queryRawUnsafe', 'fromPrisma(tx)'],
  ['executeQuery', 'fromKysely(trx)'],
  ['getTransactionContext', 'fromMikroOrm(em)'],
  ['raw', 'fromKnex(trx)'],
  ['execute', 'fromDrizzle(tx, sql)'],
];

/** @throws UnusableTransactionError naming what to pass instead. */
export function assertQueryable(tx: Queryable): void {
  const given = Object(tx) as Readonly<Record<string, unknown>>;
  const [, sentence] = OTHERS.find(([name]) => given[name] !== undefined) ?? [];
  if (sentence !== undefined) throw new UnusableTransactionError(sentence);
  if (typeof given.query === 'function') return;
  const [, remedy = 'an EntityManager of TypeORM, a client of pg, or the result of a from… function'] =
    LIBRARIES.find(([method]) => typeof given[method] === 'function') ?? [];
  throw new UnusableTransactionError(`tx has no method query(sql, parameters); pass ${remedy}`);
}

type Row = Readonly<Record<string, unknown>>;

/** Columns of our statements that hold an instant. The others have no such name. */
const INSTANT = /^now$|_at$|At$/;

/** An instant as PostgreSQL writes it: `2026-11-22 18:00:00.123456+05:30`. */
const WRITTEN = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)([+-]\d\d)(?::?(\d\d))?/;

/**
 * A row as `pg` gives it by default: instants are Dates, and a bigint is text. Libraries, and hosts with parsers of their
 * own, read these types differently.
 */
export function plainRow(row: unknown): Row {
  return Object.fromEntries(Object.entries(row as Row).map(([name, value]) => [name, plain(name, value)]));
}

function plain(name: string, value: unknown): unknown {
  if (value === null || value === undefined || types.isDate(value)) return value;
  if (INSTANT.test(name)) return instantOf(value);
  if (Array.isArray(value)) return value.map((one: unknown) => (typeof one === 'bigint' ? one.toString() : one));
  return typeof value === 'bigint' ? value.toString() : value;
}

/** A value that is no text is an object of a library for dates, which converts itself to milliseconds. */
function instantOf(value: unknown): Date {
  if (typeof value !== 'string') return new Date(Number(value));
  const [, day, time, hours, minutes = '00'] = WRITTEN.exec(value) ?? [];
  return new Date(day === undefined ? value : `${day}T${time}${hours}:${minutes}`);
}

/** What was passed as `tx` is no transaction that the call can write in, or has ended. Nothing of the call is stored. */
export class UnusableTransactionError extends CodedError {
  constructor(sentence: string, options?: { cause?: unknown }) {
    super('UNUSABLE_TRANSACTION', sentence, options);
  }

  static outside(library: string): UnusableTransactionError {
    return new UnusableTransactionError(
      `this object of ${library} is in no transaction, so each statement would commit by itself; pass the one that the ` +
        `function of your transaction receives from ${library}`,
    );
  }
}
