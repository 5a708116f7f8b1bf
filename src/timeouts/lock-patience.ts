import { type Clock } from '../clock';

/**
 * How long our transactions wait for a lock. They hold one for some 20 ms themselves; and deadlock_timeout is 1 s, so a
 * deadlock ends here before it is looked for. Whoever holds a row longer is not waited for: what needs it comes again.
 */
export const LOCK_LIMIT_MS = 500;
/** While somebody is known to hold a row: enough for a transaction of ours before this one. */
const SHORT_MS = 25;
const SHORT_FOR_MS = 2_000;

/**
 * Waits long once, and then for a while only shortly: a hundred timeouts that need one row would otherwise keep the lanes
 * of their kind for 500 ms each. Only a long wait that was in vain renews it, so it ends when the row is free.
 */
export class LockPatience {
  private shortUntilMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** Milliseconds that the next transaction may wait for a lock. */
  get limitMs(): number {
    return this.clock.monotonic() < this.shortUntilMs ? SHORT_MS : LOCK_LIMIT_MS;
  }

  /** A lock was not to be had within `limitMs`. */
  waitedInVain(limitMs: number): void {
    if (limitMs >= LOCK_LIMIT_MS) this.shortUntilMs = this.clock.monotonic() + SHORT_FOR_MS;
  }
}
