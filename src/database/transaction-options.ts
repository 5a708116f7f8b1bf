import { type EntityManager } from 'typeorm';

/** The transaction in which a call writes. */
export interface TransactionOptions {
  /**
   * The caller's transaction: what the call writes exists if, and only if, it commits. Absent: a transaction of its own,
   * which has committed when the call resolves.
   */
  readonly tx?: EntityManager | undefined;
}
