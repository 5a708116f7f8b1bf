import { type BusyRow } from '../settling/locked-timeout';
import { type NextWakeUp } from '../settling/outcome-recorder';
import { type WorkItem } from './work-item';

/** A row that is due this much later than its message says was moved after that was written. */
const MOVED_MS = 1_000;

/**
 * The rows among those far too early that need another wake-up: those whose message came too early, and leased
 * ones, in case their owner dies. A transaction that postpones a row has written its next wake-up too, and
 * a read or a sweep must not turn into messages: twenty reads of one order would be twenty messages more.
 */
export function wakeLater(rows: readonly BusyRow[], items: readonly WorkItem[], nowMs: number): NextWakeUp[] {
  const messages = new Map(
    items.filter(({ wakeUp }) => wakeUp.cause === 'message').map(({ wakeUp }) => [wakeUp.key, wakeUp.dueAtMs]),
  );
  return rows.flatMap(({ key, generation, leased, remaining_ms }) => {
    const saidMs = messages.get(key);
    const due_ms = nowMs + remaining_ms;
    const isNeeded = saidMs !== undefined && (leased || due_ms - saidMs < MOVED_MS);
    return isNeeded ? [{ key, generation, due_ms }] : [];
  });
}
