import { type EntityManager } from 'typeorm';
import { assertQueryable } from './assert-queryable';
import { explainFailure } from './explain-failure';
import { HostConnection } from './host-connection';
import { isEntityManager } from './is-entity-manager';
import { oneAtATime } from './one-at-a-time';
import { type Transaction } from './transaction';

/** What runs single statements. A statement that returns rows gives an array of them. */
export type Statements = Pick<EntityManager, 'query'>;

/** Runs what only reads, in a transaction or not. @throws UnusableTransactionError */
export function statementsOf(tx: Transaction): Statements {
  if (isEntityManager(tx)) return tx;
  assertQueryable(tx);
  const connection = new HostConnection(tx);
  const read = (sql: string, parameters?: unknown[]) =>
    connection.query(sql, parameters).catch((error: unknown) => {
      throw explainFailure(error);
    });
  return {
    query: async <T>(sql: string, parameters?: unknown[]) =>
      (await oneAtATime(tx, () => read(sql, parameters))).rows as T,
  };
}
