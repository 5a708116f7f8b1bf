import { type EntityManager } from 'typeorm';
import { type Transaction } from './transaction';

/** By its methods, because a host may have a second copy of TypeORM. */
export function isEntityManager(tx: Transaction): tx is EntityManager {
  return 'getRepository' in tx && typeof tx.query === 'function';
}
