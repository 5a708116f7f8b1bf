import { type EntityManager } from 'typeorm';
import { assertQueryable } from './assert-queryable';
import { HostConnection } from './host-connection';
import { isEntityManager } from './is-entity-manager';
import { oneAtATime } from './one-at-a-time';
import { type Transaction } from './transaction';

/** What runs single statements. A statement that returns rows gives an array of them. */
export type Statements = Pick<EntityManager, 'query'>;

/** Like `managerOf`, for what needs no savepoint. @throws UnusableTransactionError */
export function statementsOf(tx: Transaction): Statements {
  if (isEntityManager(tx)) return tx;
  assertQueryable(tx);
  const connection = new HostConnection(tx);
  return {
    query: async <T>(sql: string, parameters?: unknown[]) =>
      (await oneAtATime(tx, () => connection.query(sql, parameters))).rows as T,
  };
}
