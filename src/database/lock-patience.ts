import { type DataSource } from 'typeorm';
import { type Clock, SystemClock } from '../clock';

/**
 * How long our transactions wait for a lock. They hold one for about 20 ms themselves. deadlock_timeout is 1 s, so a deadlock
 * ends here before PostgreSQL looks for it. If a row is locked for longer, what needs it is tried again later.
 */
export const LOCK_LIMIT_MS = 500;
/** While a row is known to be locked: as good as no wait. */
const SHORT_MS = 2;
const SHORT_FOR_MS = 2_000;
/** After that, until two more seconds have shown that no row is locked for long: enough for five of our transactions. */
const PROBATION_MS = 100;
const PROBATION_FOR_MS = 2_000;

/**
 * Allows long waits until one fails, and then hardly any for two seconds. A transaction that waits for one SKU holds those
 * that it has locked before: with waits of 500 ms, 17 orders per second that need one locked SKU keep the other SKUs locked all
 * the time, and no order of these is closed.
 */
export class LockPatience {
  private failedAtMs = -Infinity;

  constructor(private readonly clock: Clock) {}

  /** A row is known to be locked for long. */
  get isShort(): boolean {
    return this.limitMs() === SHORT_MS;
  }

  /** Milliseconds that the next transaction may wait for a lock. @param calmMs while no row is known to be locked for long */
  limitMs(calmMs = LOCK_LIMIT_MS): number {
    const sinceMs = this.clock.monotonic() - this.failedAtMs;
    if (sinceMs < SHORT_FOR_MS) return SHORT_MS;
    return sinceMs < SHORT_FOR_MS + PROBATION_FOR_MS ? Math.min(PROBATION_MS, calmMs) : calmMs;
  }

  /** Call it when a wait for a lock failed after `limitMs`. Short waits fail when two of our transactions meet, and say nothing. */
  waitedInVain(limitMs: number): void {
    const isOnProbation = this.limitMs() === PROBATION_MS;
    if (limitMs >= (isOnProbation ? PROBATION_MS : LOCK_LIMIT_MS)) this.failedAtMs = this.clock.monotonic();
  }
}

const patienceByDataSource = new WeakMap<DataSource, LockPatience>();

/** The patience that all transactions on this DataSource share: what one of them finds locked, the others need not find out. */
export function lockPatienceOf(dataSource: DataSource): LockPatience {
  const known = patienceByDataSource.get(dataSource);
  if (known) return known;
  const patience = new LockPatience(new SystemClock());
  patienceByDataSource.set(dataSource, patience);
  return patience;
}
