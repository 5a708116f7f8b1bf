const SHORTEST_MS = 200;
/** Also the longest delay from the release of a lock until the timeout is decided. */
const LONGEST_MS = 4_000;
/** An eighth of the lateness: some 35 tries in the first half minute, however many rows wait. */
const SHARE = 1 / 8;
/** + 0-20 %, so that timeouts that wait together do not come back together. */
const JITTER = 0.2;

/** Milliseconds until the next try of a timeout that is late by `lateMs` because a row is locked. `random` is in [0, 1). */
export function contentionBackoffMs(lateMs: number, random: number): number {
  const base = Math.min(Math.max(lateMs * SHARE, SHORTEST_MS), LONGEST_MS);
  return Math.round(base * (1 + JITTER * random));
}
