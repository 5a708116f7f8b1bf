import { type EntityManager, type QueryRunner } from 'typeorm';
import { assertQueryable } from './assert-queryable';
import { hasEnded } from './explain-failure';
import { HostConnection } from './host-connection';
import { isEntityManager } from './is-entity-manager';
import { type Queryable, type Transaction } from './transaction';
import { UnusableTransactionError } from './unusable-transaction-error';

/** Runs a statement in the host's transaction. */
export type Base = (sql: string, parameters?: unknown[], structured?: boolean) => Promise<unknown>;

/** What a call writes in. */
export interface HostBase {
  /** Of the whole transaction, the same for each call in it. */
  readonly key: object;
  readonly send: Base;
  /** With which the host sends its own statements, too, if that is known. It takes several in one text. */
  readonly client?: { query(...given: never[]): unknown };
  /** @throws UnusableTransactionError when the transaction has ended */
  assertActive?(): void;
}

/** The transaction of any library. @throws UnusableTransactionError if it is none */
export function hostBaseOf(tx: Transaction): HostBase {
  return isEntityManager(tx) ? ofTypeOrm(tx) : ofQueryable(tx);
}

/** The runner of a transaction. @throws UnusableTransactionError */
export function activeRunnerOf({ queryRunner }: EntityManager): QueryRunner {
  if (queryRunner?.isTransactionActive !== true) throw UnusableTransactionError.outside('TypeORM');
  return queryRunner;
}

function ofTypeOrm(tx: EntityManager): HostBase {
  const client = activeRunnerOf(tx);
  return {
    key: client,
    client,
    send: (sql, parameters, structured) => client.query(sql, parameters, structured as true),
    assertActive: () => {
      if (!client.isTransactionActive || client.isReleased) throw hasEnded();
    },
  };
}

function ofQueryable(tx: Queryable): HostBase {
  assertQueryable(tx);
  const connection = new HostConnection(tx);
  // A client of pg has them.
  const client = 'connectionParameters' in tx ? { client: tx } : {};
  return { key: tx, send: (sql, parameters) => connection.query(sql, parameters), ...client };
}
