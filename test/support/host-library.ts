import { type Transaction } from '../../src/public/transactions';

/** A transaction of a host, with what the host writes itself. */
export interface HostTransaction {
  /** What is passed to the product. */
  readonly tx: Transaction;
  /** Writes a row of the host, by its own means. */
  readonly note: (text: string) => Promise<unknown>;
  /** Runs `work` in a nested transaction, which alone is rolled back when `work` rejects. */
  nest<T>(work: (host: HostTransaction) => Promise<T>): Promise<T>;
}

/** How a host runs transactions with its library. */
export interface HostLibrary {
  /** Commits when `work` resolves, and rolls back when it rejects. */
  run<T>(work: (host: HostTransaction) => Promise<T>, level?: 'REPEATABLE READ'): Promise<T>;
  /** What the library offers for single statements, passed as if it were a transaction. Throws. */
  outside(): Transaction;
  close(): Promise<unknown>;
  /** True for a library that rolls a transaction back after any failed statement. */
  readonly rollsBackFailures?: boolean;
  /** True where the product sees what the host sends itself. */
  readonly isSeen?: boolean;
  /** True for a library that may never answer a statement that comes after the transaction. */
  readonly forgetsLateStatements?: boolean;
}

/** Thrown by a host that does not want its transaction. */
export class Undo extends Error {}

/** Creates the host's table, which `note` writes. */
export const HOST_TABLE = 'CREATE TABLE host_note (text text PRIMARY KEY)';

/** A nested transaction for libraries that have none. @param send runs a statement in the transaction */
export async function inSavepoint<T>(send: (sql: string) => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  await send('SAVEPOINT nested');
  try {
    const result = await work();
    await send('RELEASE SAVEPOINT nested');
    return result;
  } catch (error) {
    await send('ROLLBACK TO SAVEPOINT nested');
    throw error;
  }
}
