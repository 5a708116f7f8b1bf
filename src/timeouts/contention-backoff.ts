const SHORTEST_MS = 200;
/** What waits for a lock is decided within so long after the lock is gone. */
const LONGEST_MS = 4_000;
/** An eighth of the lateness: some 35 tries in the first half minute, however many rows wait. */
const SHARE = 1 / 8;
/** + 0-20 %, so that what waits together does not come back together. */
const JITTER = 0.2;

/** When to look again at a timeout that is late by `lateMs` because somebody holds a row. `random` is in [0, 1). */
export function contentionBackoffMs(lateMs: number, random: number): number {
  const base = Math.min(Math.max(lateMs * SHARE, SHORTEST_MS), LONGEST_MS);
  return Math.round(base * (1 + JITTER * random));
}
