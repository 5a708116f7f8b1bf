import { type Transaction } from '../../src';

/** A transaction of a host, with what the host writes itself. */
export interface HostTransaction {
  /** What is passed to the product. */
  readonly tx: Transaction;
  /** Writes a row of the host, by its own means. */
  note(text: string): Promise<unknown>;
}

/** How a host runs transactions with its library. */
export interface HostLibrary {
  /** Commits when `work` resolves, and rolls back when it rejects. */
  run<T>(work: (host: HostTransaction) => Promise<T>, level?: 'REPEATABLE READ'): Promise<T>;
  /** What the library offers for single statements, passed as if it were a transaction. Throws. */
  outside(): Transaction;
  close(): Promise<unknown>;
}

/** Creates the host's table, which `note` writes. */
export const HOST_TABLE = 'CREATE TABLE host_note (text text PRIMARY KEY)';
