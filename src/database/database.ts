import { type DataSource, type EntityManager } from 'typeorm';
import { ownQuery } from './own-connection';
import { ownTransaction, type OwnTransactionOptions, runTransaction, type Tables } from './transaction';
import { type Transaction } from './host-transactions/transaction';

/** The database that holds our tables. Inject it. */
export class Database implements Tables {
  /** @param schema validated name of the PostgreSQL schema. */
  constructor(
    readonly dataSource: DataSource,
    readonly schema: string,
  ) {}

  /** Runs one statement outside of a transaction; see `ownQuery`. */
  query<T>(sql: string, parameters?: unknown[]): Promise<T> {
    return ownQuery(this.dataSource, sql, parameters);
  }

  /** Runs `work` once, in a transaction of its own; see `ownTransaction`. */
  transaction<T>(work: (tx: EntityManager) => Promise<T>, options?: OwnTransactionOptions): Promise<T> {
    return ownTransaction(this.dataSource, work, options);
  }

  /** Runs `work` in the caller's transaction, or else in one of its own, again after a conflict; see `runTransaction`. */
  run<T>(tx: Transaction | undefined, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return runTransaction(this, tx, work);
  }
}

/** Composes the texts of statements, once for each schema. */
export function statements<T>(compose: (schema: string) => T): (tables: Pick<Tables, 'schema'>) => T {
  const composed = new Map<string, T>();
  return ({ schema }) => {
    const known = composed.get(schema);
    if (known !== undefined) return known;
    const made = compose(schema);
    composed.set(schema, made);
    return made;
  };
}
