import { adapted } from './adapted';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

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
