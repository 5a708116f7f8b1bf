import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

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
  const given = tx as unknown as Readonly<Record<string, unknown>>;
  // Each statement of a pool may run on another connection.
  if (typeof given.totalCount === 'number')
    throw new UnusableTransactionError('tx is a pool; pass the client of pool.connect() on which you ran BEGIN');
  if (typeof given.query === 'function') return;
  const [, remedy = 'an EntityManager of TypeORM, a client of pg, or the result of a from… function'] =
    LIBRARIES.find(([method]) => typeof given[method] === 'function') ?? [];
  throw new UnusableTransactionError(`tx has no method query(sql, parameters); pass ${remedy}`);
}
