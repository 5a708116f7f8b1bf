import { type Transaction } from './host-transactions/transaction';

/** The transaction in which a call writes. */
export interface TransactionOptions {
  /**
   * The caller's transaction: what the call writes exists if, and only if, it commits. An EntityManager of TypeORM, a
   * client of `pg`, or the result of `fromPrisma`, `fromDrizzle`, `fromKysely`, `fromKnex`, or `fromMikroOrm`.
   * Absent: a transaction of its own, which has committed when the call resolves.
   */
  readonly tx?: Transaction | undefined;
}
