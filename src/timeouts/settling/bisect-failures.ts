import { type Blame, blameFor } from './blame';
import { isGivenUp } from '../../database';

export interface IsolatePlan<T> {
  /** One transaction over the items; a rejection means that nothing was written. */
  settle(items: readonly T[]): Promise<void>;
  /** The item that fails alone: write that down. */
  failed(item: T, error: unknown): Promise<void>;
  /** The item needs a row that another session holds: try it later, uncounted. */
  held(item: T, error: unknown): Promise<void>;
  /** Items that wait for a lock, or of which one hangs. Each has to be run alone, where it does not hold up the others. */
  apart(items: readonly T[]): void;
  /** The database could not be asked; nothing is written and nobody is to blame. */
  away(items: readonly T[], error: unknown): void;
  /** Whether the database can be asked at this moment. */
  isDatabaseThere(): Promise<boolean>;
}

/**
 * Settles a batch so that one bad item falls out of it: a batch that throws is split in halves until the offender
 * stands alone (about 2 × log2 n transactions), the others settle as usual. A batch that had to wait is not split, because each half
 * would wait as long and hold up later batches. Never rejects.
 */
export async function bisectFailures<T>(items: readonly T[], plan: IsolatePlan<T>): Promise<void> {
  const [only] = items;
  if (only === undefined) return;
  try {
    await settleOnceMore(items, plan);
  } catch (error) {
    const blame = await blameOnce(error, plan);
    if (blame === 'away') return plan.away(items, error);
    if (items.length === 1) {
      const written = blame === 'contention' ? plan.held(only, error) : plan.failed(only, error);
      return written.catch((reason: unknown) => plan.away(items, reason));
    }
    if (blame !== 'item') return plan.apart(items);
    const half = Math.ceil(items.length / 2);
    await bisectFailures(items.slice(0, half), plan);
    await bisectFailures(items.slice(half), plan);
  }
}

/**
 * A connection that our side gave up twice while the database is there: these items cost it, by a statement that takes
 * longer than the pool waits, for instance. Given back together they would come again together, and stop their kind for good.
 */
async function blameOnce<T>(error: unknown, plan: IsolatePlan<T>): Promise<Blame> {
  const blame = blameFor(error);
  return blame === 'away' && isGivenUp(error) && (await plan.isDatabaseThere()) ? 'contention' : blame;
}

/** A connection that was cut, while the database is there, says nothing about the items: they get a second go. */
async function settleOnceMore<T>(items: readonly T[], plan: IsolatePlan<T>): Promise<void> {
  try {
    await plan.settle(items);
  } catch (error) {
    if (blameFor(error) !== 'away' || !(await plan.isDatabaseThere())) throw error;
    await plan.settle(items);
  }
}
