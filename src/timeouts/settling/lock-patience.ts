import { type Clock } from '../../clock';

/**
 * How long our transactions wait for a lock. They hold one for about 20 ms themselves. deadlock_timeout is 1 s, so a deadlock
 * ends here before PostgreSQL looks for it. If a row is locked for longer, what needs it is tried again later.
 */
export const LOCK_LIMIT_MS = 500;
/** While a row is known to be locked: enough to wait for one of our own transactions. */
const SHORT_MS = 25;
const SHORT_FOR_MS = 2_000;

/**
 * Allows one long wait, and then only short ones for two seconds: a hundred timeouts that need one row would otherwise block
 * the batches of their kind for 500 ms each. Only a long wait that failed renews that time, so it ends when the row is free.
 */
export class LockPatience {
  private shortUntilMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** Milliseconds that the next transaction may wait for a lock. */
  get limitMs(): number {
    return this.clock.monotonic() < this.shortUntilMs ? SHORT_MS : LOCK_LIMIT_MS;
  }

  /** Call it when a wait for a lock failed after `limitMs`. */
  waitedInVain(limitMs: number): void {
    if (limitMs >= LOCK_LIMIT_MS) this.shortUntilMs = this.clock.monotonic() + SHORT_FOR_MS;
  }
}
