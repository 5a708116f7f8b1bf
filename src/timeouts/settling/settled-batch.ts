import { type DueTimeout } from '../timeout';
import { type LockedRow } from './locked-timeout';
import { type ResolvedOutcome } from './resolve-outcome';

/** One timeout that a transaction has dealt with. */
export interface SettledRow {
  readonly due: DueTimeout;
  readonly outcome: ResolvedOutcome;
}

/** What a committed transaction did. */
export interface SettledBatch {
  readonly settled: readonly SettledRow[];
  /** Rows that were not due yet, or that another transaction holds. */
  readonly early: readonly LockedRow[];
  /** Fences the second call of those whose outcome is `look-up`. */
  readonly lease: string;
}
