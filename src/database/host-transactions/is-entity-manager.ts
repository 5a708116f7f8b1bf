import { type EntityManager } from 'typeorm';
import { type Transaction } from './transaction';

/** By its methods, because a host may have a second copy of TypeORM. A DataSource has them, too. */
export function isEntityManager(tx: Transaction): tx is EntityManager {
  return typeof tx === 'object' && 'getRepository' in tx && 'query' in tx && !('createQueryRunner' in tx);
}
