import { type LockedRow } from '../settling/locked-timeout';
import { type TimeoutCause } from '../timeout';
import { type WakeUp } from './wake-up';

/**
 * How a wake-up ended. `finished`: what it led to is committed, or there was nothing to do.
 * `unwritten`: nothing could be written, so its source must keep it and try again.
 */
export type WakeUpResult = 'finished' | 'unwritten';

/** A wake-up in progress. `finish` tells its source how it ended. */
export interface WorkItem {
  readonly wakeUp: WakeUp;
  finish(result: WakeUpResult): void;
}

/** A row that was found in the table. It has no delivery to acknowledge, so `finish` does nothing. */
export function overdueItem(row: LockedRow, cause: TimeoutCause): WorkItem {
  const { key, generation } = row;
  return { wakeUp: { key, generation, dueAtMs: row.due_at.getTime(), cause }, finish: () => undefined };
}
