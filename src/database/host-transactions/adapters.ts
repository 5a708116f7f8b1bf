import { types } from 'node:util';
import { type Queryable, UnusableTransactionError } from './transaction';

/** The part of a transaction of Drizzle that is used. */
export interface DrizzleTransaction {
  execute(query: unknown): PromiseLike<unknown>;
}

/** The function `sql` of `drizzle-orm`. */
export interface DrizzleSql {
  (strings: TemplateStringsArray, ...values: unknown[]): unknown;
  param(value: unknown): unknown;
}

/**
 * The transaction of Drizzle, for `tx`: `db.transaction((tx) => orders.place(order, { tx: fromDrizzle(tx, sql) }))`.
 *
 * @param sql the function `sql` of `drizzle-orm`, which builds the statements.
 * @throws UnusableTransactionError for a database that is in no transaction.
 */
export function fromDrizzle(tx: DrizzleTransaction, sql: DrizzleSql): Queryable {
  if (!('rollback' in tx)) throw UnusableTransactionError.outside('Drizzle');
  return adapted(tx, async (text, parameters = []) => {
    const { parts, values } = splitPlaceholders(text, parameters);
    const query = sql(Object.assign([...parts], { raw: parts }), ...values.map((value) => sql.param(plain(value))));
    return { rows: rowsOf(await tx.execute(query)) };
  });
}

/** Drizzle takes from postgres.js how it sends instants, and arrays of them. */
function plain(value: unknown): unknown {
  if (types.isDate(value)) return value.toISOString();
  return Array.isArray(value) ? arrayLiteral(value) : value;
}

/** Some of its drivers return the rows, and some return a result that has them. */
function rowsOf(result: unknown): readonly unknown[] {
  return Array.isArray(result) ? (result as unknown[]) : (result as { readonly rows: readonly unknown[] }).rows;
}

/** The part of a transaction of Knex that is used. */
export interface KnexTransaction {
  readonly isTransaction?: boolean;
  raw(sql: string, bindings: readonly never[]): PromiseLike<{ readonly rows: readonly unknown[] }>;
}

/**
 * The transaction of Knex, for `tx`: `knex.transaction((trx) => orders.place(order, { tx: fromKnex(trx) }))`.
 *
 * @throws UnusableTransactionError for a Knex that is in no transaction.
 */
export function fromKnex(trx: KnexTransaction): Queryable {
  if (trx.isTransaction !== true) throw UnusableTransactionError.outside('Knex');
  return adapted(trx, async (sql, parameters = []) => {
    const { parts, values } = splitPlaceholders(sql, parameters);
    // Knex takes each question mark for a placeholder, even within a text.
    return trx.raw(parts.map((part) => part.replaceAll('?', '\\?')).join('?'), values as never[]);
  });
}

/** A compiled query, as far as Kysely reads one that it has not built. */
interface KyselyQuery {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly query: {
    readonly kind: 'RawNode';
    readonly sqlFragments: readonly string[];
    readonly parameters: readonly [];
  };
  readonly queryId: { readonly queryId: string };
}

/** The part of a transaction of Kysely that is used. */
export interface KyselyTransaction {
  readonly isTransaction: boolean;
  withoutPlugins(): { executeQuery(query: KyselyQuery): Promise<{ readonly rows: readonly unknown[] }> };
}

/**
 * The transaction of Kysely, for `tx`: `db.transaction().execute((trx) => orders.place(order, { tx: fromKysely(trx) }))`.
 * Plugins, which may rename columns, do not apply to the statements of this package.
 *
 * @throws UnusableTransactionError for a Kysely that is in no transaction.
 */
export function fromKysely(trx: KyselyTransaction): Queryable {
  if (!trx.isTransaction) throw UnusableTransactionError.outside('Kysely');
  const plain = trx.withoutPlugins();
  return adapted(trx, (sql, parameters = []) => plain.executeQuery(compiled(sql, parameters)));
}

function compiled(sql: string, parameters: readonly unknown[]): KyselyQuery {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const;
  return { sql, parameters, query, queryId: { queryId: 'nestjs-order-timeout' } };
}

/** The part of an EntityManager of MikroORM that is used. */
export interface MikroOrmEntityManager {
  getTransactionContext(): unknown;
}

/**
 * The transaction of MikroORM, for `tx`: `em.transactional((em) => orders.place(order, { tx: fromMikroOrm(em) }))`.
 * Call `em.flush()` before, if the statements of this package must see what you have changed.
 *
 * @throws UnusableTransactionError for an EntityManager that is in no transaction.
 */
export function fromMikroOrm(em: MikroOrmEntityManager): Queryable {
  const context = em.getTransactionContext() as KnexTransaction | KyselyTransaction | undefined;
  if (context === undefined) throw UnusableTransactionError.outside('MikroORM');
  // Up to version 6 it is a transaction of Knex, and since version 7 one of Kysely.
  return 'withoutPlugins' in context ? fromKysely(context) : fromKnex(context);
}

/** What Prisma passes to the function of an interactive transaction. */
export interface PrismaTransaction {
  $queryRawUnsafe(sql: string, ...values: unknown[]): PromiseLike<unknown>;
}

/**
 * The transaction of Prisma, for `tx`: `prisma.$transaction((tx) => orders.place(order, { tx: fromPrisma(tx) }))`.
 *
 * @throws UnusableTransactionError for a client, because each of its statements has a transaction of its own.
 */
export function fromPrisma(tx: PrismaTransaction): Queryable {
  if ('$connect' in tx) throw UnusableTransactionError.outside('Prisma');
  const query: Queryable['query'] = async (sql, parameters = []) => ({
    rows: (await tx.$queryRawUnsafe(sql, ...parameters)) as unknown[],
  });
  return adapted(tx, atUtc(query));
}

const known = new WeakMap<object, Queryable>();

/** The adapter of a transaction. It is the same each time, so that calls in one transaction can wait for each other. */
function adapted(tx: object, query: Queryable['query']): Queryable {
  const adapter = known.get(tx) ?? { query };
  known.set(tx, adapter);
  return adapter;
}

/** A statement without its placeholders. */
interface SplitStatement {
  /** The text before, between, and after the placeholders. */
  readonly parts: readonly string[];
  /** The value of each placeholder. */
  readonly values: readonly unknown[];
}

const PLACEHOLDER = /\$(\d+)(::\w+(?:\[\])?)?/g;

/**
 * Pure: splits a statement at `$1`, `$2`, and so on, for libraries that number placeholders themselves. Each occurrence
 * becomes a parameter of its own, so each gets the cast that one of them has: PostgreSQL would not know its type otherwise.
 */
export function splitPlaceholders(sql: string, parameters: readonly unknown[]): SplitStatement {
  const found = [...sql.matchAll(PLACEHOLDER)];
  const casts = new Map(found.flatMap(([, number, cast]) => (cast === undefined ? [] : [[number, cast] as const])));
  const parts: string[] = [];
  let cast = '';
  let from = 0;
  for (const { 0: text, 1: number, index } of found) {
    parts.push(cast + sql.slice(from, index));
    cast = casts.get(number) ?? '';
    from = index + text.length;
  }
  parts.push(cast + sql.slice(from));
  return { parts, values: found.map(([, number]) => parameters[Number(number) - 1]) };
}

/** Pure: an array of scalars as PostgreSQL writes it, for drivers that cannot send an array of every type. */
export function arrayLiteral(values: readonly unknown[]): string {
  return `{${values.map(elementOf).join(',')}}`;
}

function elementOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  const scalar: unknown = types.isDate(value) ? value.toISOString() : value;
  return `"${String(scalar).replace(/["\\]/g, '\\$&')}"`;
}

type Query = Queryable['query'];

const READ_ZONE = `SELECT current_setting('TimeZone') AS zone`;

const SET_ZONE = `SELECT set_config('TimeZone', $1, true)`;

const OF_SAVEPOINT = /^\s*(SAVEPOINT|RELEASE|ROLLBACK|DECLARE|CLOSE)\b/i;

const IS_UTC = /^(Etc\/)?(UTC|GMT)$/i;

/**
 * Runs each statement at UTC, for a library that drops the offset of instants which it reads. The session then has its own
 * time zone again. After a failed statement the host's rollback, or that of the savepoint, brings it back.
 */
export function atUtc(query: Query): Query {
  let zone: Promise<string> | undefined;
  return async (sql, parameters) => {
    if (OF_SAVEPOINT.test(sql)) return query(sql, parameters);
    zone ??= readZone(query);
    const own = await zone;
    if (IS_UTC.test(own)) return query(sql, parameters);
    await query(SET_ZONE, ['UTC']);
    const result = await query(sql, parameters);
    await query(SET_ZONE, [own]);
    return result;
  };
}

async function readZone(query: Query): Promise<string> {
  const [row] = (await query(READ_ZONE)).rows as readonly { readonly zone: string }[];
  return row?.zone ?? '';
}
