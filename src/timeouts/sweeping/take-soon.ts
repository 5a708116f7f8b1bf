import { type AnnouncedWakeUp } from '../../outbox';
import { type Sweep } from './sweep';

/** Notes of commits are held in the process only when due this soon; the sweep's look-ahead finds the others. */
const SOON_MS = 2_000;

/** Has what was just scheduled and is due soon handled without a message. Otherwise it would wait for the next tick. */
export function takeSoon(
  wakeUps: readonly AnnouncedWakeUp[],
  sweeps: ReadonlyMap<string, Sweep>,
  databaseNowMs: number,
): void {
  for (const { kind, key, generation, dueAtMs } of wakeUps) {
    if (dueAtMs <= databaseNowMs + SOON_MS) sweeps.get(kind)?.take(key, generation, dueAtMs);
  }
}
