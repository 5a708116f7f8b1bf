import { type Queryable } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

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
