import { adapted } from './adapted';
import { splitPlaceholders } from './split-placeholders';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

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
