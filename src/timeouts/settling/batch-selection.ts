import { type EntityManager } from 'typeorm';
import { type TimeoutCause } from '../timeout';
import { type LockedRow } from './locked-timeout';

/** Rows that a selection has locked. */
export interface LockedRows {
  /** Handled in this transaction. */
  readonly due: readonly LockedRow[];
  /** Not due yet, leased, or locked by another transaction. */
  readonly early?: readonly LockedRow[];
}

/** The rows of one transaction: those that wake-ups name, those whose look-ups were answered, or a page of overdue ones. */
export interface BatchSelection {
  /** Locks the rows. It runs the first statement of the transaction. */
  lock(tx: EntityManager): Promise<LockedRows>;
  /** What triggered the timeout of this row. */
  causeOf(row: LockedRow): TimeoutCause;
  /** Answers to look-ups, by key. */
  readonly answers?: ReadonlyMap<string, unknown>;
}
