import { isGivenUp } from '../../database';
import { type BatchWork } from './batch-work';
import { type Blame, blameFor } from './blame';

interface Bisection<T> {
  /** Takes items that wait for a lock, or of which one hangs. Each has to run alone, where it does not delay the others. */
  isolate(items: readonly T[]): void;
  isDatabaseAvailable(): Promise<boolean>;
}

/**
 * Settles a batch so that one bad item falls out of it: a batch that throws is split in halves until the offender
 * stands alone (about 2 × log2 n transactions), and the others settle as usual. A batch that had to wait is not split, because
 * each half would wait as long and delay later batches. Never rejects.
 */
export async function bisectFailures<T>(items: readonly T[], work: BatchWork<T>, context: Bisection<T>): Promise<void> {
  const [only] = items;
  if (only === undefined) return;
  try {
    await settleTwice(items, work, context);
  } catch (error) {
    const blame = await blameInContext(error, context);
    if (blame === 'unavailable') return work.onUnavailable(items, error);
    if (items.length === 1) {
      const written = blame === 'contention' ? work.postpone(only, error) : work.recordFailure(only, error);
      return written.catch((reason: unknown) => work.onUnavailable(items, reason));
    }
    if (blame !== 'item') return context.isolate(items);
    const half = Math.ceil(items.length / 2);
    await bisectFailures(items.slice(0, half), work, context);
    await bisectFailures(items.slice(half), work, context);
  }
}

/**
 * A connection that the product gave up twice while the database is available: these items cost it, for example by a statement
 * that takes longer than the pool waits. Given back together they would come again together, and stop their kind for good.
 */
async function blameInContext(error: unknown, context: Pick<Bisection<never>, 'isDatabaseAvailable'>): Promise<Blame> {
  const blame = blameFor(error);
  return blame === 'unavailable' && isGivenUp(error) && (await context.isDatabaseAvailable()) ? 'contention' : blame;
}

/** A connection that was cut while the database is available says nothing about the items, so they get a second try. */
async function settleTwice<T>(items: readonly T[], work: BatchWork<T>, context: Bisection<T>): Promise<void> {
  try {
    await work.settleBatch(items);
  } catch (error) {
    if (blameFor(error) !== 'unavailable' || !(await context.isDatabaseAvailable())) throw error;
    await work.settleBatch(items);
  }
}
