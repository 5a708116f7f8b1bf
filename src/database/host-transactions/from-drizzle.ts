import { types } from 'node:util';
import { adapted } from './adapted';
import { arrayLiteral } from './array-literal';
import { splitPlaceholders } from './split-placeholders';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

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
