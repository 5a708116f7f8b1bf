import { type BusyRow } from '../settling/locked-timeout';
import { type WorkItem } from './work-item';

/**
 * Tells rows to handle now from those for which it is too early, because they are not due, held, or leased. The lease of a
 * question is not waited for, up to 20 s, when the wake-up was delivered before and this process is not asking: the process that
 * was asking has ended or has lost its connection. The new lease fences whatever it may still answer.
 */
export function splitDue(
  rows: readonly BusyRow[],
  items: readonly WorkItem[],
  isAsking: (key: string) => boolean,
): { readonly due: readonly BusyRow[]; readonly early: readonly BusyRow[] } {
  const redelivered = new Set(items.filter(({ wakeUp }) => wakeUp.isRedelivered).map(({ wakeUp }) => wakeUp.key));
  const isAbandoned = ({ key, leased }: BusyRow): boolean => leased && redelivered.has(key) && !isAsking(key);
  const isDue = (row: BusyRow): boolean => !row.busy && (row.remaining_ms <= 0 || isAbandoned(row));
  return { due: rows.filter(isDue), early: rows.filter((row) => !isDue(row)) };
}
