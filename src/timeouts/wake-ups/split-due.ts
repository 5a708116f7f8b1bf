import { type BusyRow } from '../settling/locked-timeout';
import { type WorkItem } from './work-item';

/**
 * Separates rows to handle now from early ones, which are not due, leased, or locked by another transaction.
 *
 * A leased row counts as due if its wake-up was redelivered and this process is not looking it up: the process that did has
 * ended or has lost its connection. Waiting for its lease would take up to 20 s. The new lease fences its answer.
 */
export function splitDue(
  rows: readonly BusyRow[],
  items: readonly WorkItem[],
  isLookingUp: (key: string) => boolean,
): { readonly due: readonly BusyRow[]; readonly early: readonly BusyRow[] } {
  const redelivered = new Set(items.filter(({ wakeUp }) => wakeUp.isRedelivered).map(({ wakeUp }) => wakeUp.key));
  const isAbandoned = ({ key, leased }: BusyRow): boolean => leased && redelivered.has(key) && !isLookingUp(key);
  const isDue = (row: BusyRow): boolean => !row.busy && (row.remaining_ms <= 0 || isAbandoned(row));
  return { due: rows.filter(isDue), early: rows.filter((row) => !isDue(row)) };
}
