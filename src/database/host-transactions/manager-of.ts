import { type DataSource, type EntityManager } from 'typeorm';
import { assertQueryable } from './assert-queryable';
import { HostConnection } from './host-connection';
import { isEntityManager } from './is-entity-manager';
import { type Transaction } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

/**
 * The manager that runs our statements in the caller's transaction, whichever library it belongs to. All of them go
 * through `Queryable.query`. A transaction within it is a savepoint, as in every manager that is in a transaction.
 *
 * @throws UnusableTransactionError
 */
export function managerOf(dataSource: DataSource, tx: Transaction): EntityManager {
  if (isEntityManager(tx)) {
    if (tx.queryRunner?.isTransactionActive !== true) throw UnusableTransactionError.outside('TypeORM');
    return tx;
  }
  assertQueryable(tx);
  const connection = new HostConnection(tx);
  // The runner never takes a connection of the pool, so there is nothing to release.
  const runner = Object.assign(dataSource.createQueryRunner(), {
    connect: () => Promise.resolve(connection),
    isTransactionActive: true,
    transactionDepth: 1,
  });
  return runner.manager;
}
