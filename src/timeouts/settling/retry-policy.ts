/** Waits after the 1st, 2nd, … failure, milliseconds; the last one repeats. */
const BACKOFF_MS = [2_000, 5_000, 15_000, 60_000, 300_000] as const;
/** ± 20 %, so that what failed together does not come back together. */
const JITTER = 0.2;

/** How long to wait after `failures` (≥ 1) failures. `random` is in [0, 1). */
export function backoffMs(failures: number, random: number): number {
  const index = Math.min(Math.max(Math.trunc(failures), 1), BACKOFF_MS.length) - 1;
  const base = BACKOFF_MS[index] ?? BACKOFF_MS[0];
  return Math.round(base * (1 - JITTER + 2 * JITTER * random));
}
