import { type DataSource, type EntityManager } from 'typeorm';
import { isLockTimeout, lockPatienceOf, onOwnConnection, ownTransaction, STATEMENT_MS } from '../../database';
import { type Inventory } from '../../inventory';

/** A pause of a transaction on a busy machine, milliseconds. */
const PAUSE_MS = 5_000;
/** What this process computes between two statements, for each line: 4 µs on a quiet machine, and 25 times that. */
const PAUSE_MS_PER_LINE = 0.1;

interface Reservation {
  readonly dataSource: DataSource;
  readonly inventory: Inventory;
  /** What the transaction reserves, one for each line. */
  readonly skus: readonly string[];
  /** The longest wait for a lock, milliseconds. @default 500 */
  readonly lockLimitMs?: number | undefined;
}

/**
 * Runs one transaction that reserves these SKUs. While a row is known to be locked for long, it asks first, because a
 * transaction that fails at a locked SKU holds the others until its rollback has arrived.
 *
 * @throws 55P03 if a SKU is locked.
 */
export async function reserveInTransaction<T>(
  { dataSource, inventory, skus, lockLimitMs }: Reservation,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  const patience = lockPatienceOf(dataSource);
  if (patience.isShort)
    await onOwnConnection(dataSource, STATEMENT_MS, ({ manager }) => inventory.assertFree(manager, skus));
  const lockMs = patience.limitMs(lockLimitMs);
  try {
    const idleMs = Math.ceil(PAUSE_MS + skus.length * PAUSE_MS_PER_LINE);
    return await ownTransaction(dataSource, work, { lockMs, idleMs });
  } catch (error) {
    if (isLockTimeout(error)) patience.waitedInVain(lockMs);
    throw error;
  }
}
