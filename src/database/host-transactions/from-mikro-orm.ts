import { fromKnex, type KnexTransaction } from './from-knex';
import { fromKysely, type KyselyTransaction } from './from-kysely';
import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

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
