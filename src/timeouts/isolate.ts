import { isDatabaseAway } from './database-away';
import { HandlerFailure } from './timeout-errors';

interface IsolatePlan<T> {
  /** One transaction over the items; a rejection means that nothing was written. */
  settle(items: readonly T[]): Promise<void>;
  /** The item that fails alone: write that down. */
  failed(item: T, error: unknown): Promise<void>;
  /** The database could not be asked; nothing is written and nobody is to blame. */
  away(items: readonly T[], error: unknown): void;
  /** Whether the database can be asked at this moment. */
  isDatabaseThere(): Promise<boolean>;
}

/**
 * Settles a batch so that one bad item falls out of it: a batch that throws is split in halves until the offender
 * stands alone (about 2 × log2 n transactions), the others settle as usual. Never rejects.
 */
export async function settleIsolated<T>(items: readonly T[], plan: IsolatePlan<T>): Promise<void> {
  const [only] = items;
  if (only === undefined) return;
  try {
    await settleOnceMore(items, plan);
  } catch (error) {
    if (isAway(error)) return plan.away(items, error);
    if (items.length === 1) return plan.failed(only, error).catch((reason: unknown) => plan.away(items, reason));
    const half = Math.ceil(items.length / 2);
    await settleIsolated(items.slice(0, half), plan);
    await settleIsolated(items.slice(half), plan);
  }
}

/** A connection that was cut, while the database is there, says nothing about the items: they get a second go. */
async function settleOnceMore<T>(items: readonly T[], plan: IsolatePlan<T>): Promise<void> {
  try {
    await plan.settle(items);
  } catch (error) {
    if (!isAway(error) || !(await plan.isDatabaseThere())) throw error;
    await plan.settle(items);
  }
}

/** A lost connection is nobody's fault, even if the database is there again; the handler's own, to another server, is. */
function isAway(error: unknown): boolean {
  return isDatabaseAway(error) && !(error instanceof HandlerFailure);
}
