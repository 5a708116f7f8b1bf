import { type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { present } from '../../errors';
import { markOwn } from '../own-runners';
import { type HostCall } from './host-call';
import { activeRunnerOf } from './host-base';
import { isEntityManager } from './is-entity-manager';
import { type Transaction } from './transaction';

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
