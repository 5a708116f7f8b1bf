import { type EntityManager } from 'typeorm';
import { type TimeoutCause } from '../timeout';
import { type LockedRow } from './locked-timeout';

/** Rows that a selection has locked. */
export interface LockedRows {
  /** Handled in this transaction. */
  readonly due: readonly LockedRow[];
  /** Not due yet, or held by another transaction. */
  readonly early?: readonly LockedRow[];
}

/** The rows of one transaction: those of wake-ups, those of answers to look-ups, or a page of what is overdue. */
export interface BatchSelection {
  /** Locks the rows; the first statement of the transaction. */
  lock(tx: EntityManager): Promise<LockedRows>;
  /** What brought this row here. */
  causeOf(row: LockedRow): TimeoutCause;
  /** Answers to look-ups, by key. */
  readonly answers?: ReadonlyMap<string, unknown>;
}
