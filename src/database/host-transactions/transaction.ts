import { type EntityManager } from 'typeorm';

/**
 * Runs statements in one transaction. A client of `pg` in a transaction is one, and the functions `fromPrisma`,
 * `fromDrizzle`, `fromKysely`, `fromKnex`, and `fromMikroOrm` make one of other libraries.
 */
export interface Queryable {
  /** Runs one statement with the placeholders `$1`, `$2`, and so on, and returns its rows as objects. */
  query(sql: string, parameters?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
  /** A DataSource and a QueryRunner of TypeORM have one. Neither can be passed. */
  readonly manager?: never;
  /** A pool of `pg` has one. Each of its statements may run on another connection, so it cannot be passed. */
  readonly totalCount?: never;
}

/** A transaction of the caller. */
export type Transaction = EntityManager | Queryable;
