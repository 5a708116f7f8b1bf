import { type Clock, type Timer } from '../../clock';
import { isGivenUp, isContention, isDatabaseUnavailable, isSchemaUnusable, contentionBackoffMs } from '../../database';
import { HandlerFailure, HandlerTimeoutError } from '../model/errors';
import { backoffMs } from '../model/outcomes';
import { type Failure } from './timeout-settler';

interface BatchesDependencies<T> {
  readonly work: BatchWork<T>;
  readonly database: { isDatabaseAvailable(): Promise<boolean> };
  /** Items run alone at once. */
  readonly concurrency: number;
}

/** Settles batches. Items that would delay later ones run alone, a few at a time, beside the batches. */
export class IsolatedBatches<T> {
  private readonly alone: MicroBatcher<T>;

  constructor(
    private readonly deps: BatchesDependencies<T>,
    clock: Clock,
  ) {
    const { concurrency } = deps;
    const run = (items: readonly T[]): Promise<void> => this.run(items);
    this.alone = new MicroBatcher(clock, { size: 1, waitMs: 0, besideMs: 0, concurrency, run });
  }

  /** Resolves when the items are settled, or wait to run alone. Never rejects. */
  run(items: readonly T[]): Promise<void> {
    const { work, database } = this.deps;
    return bisectFailures(items, work, {
      isolate: (part) => this.alone.add(part),
      isDatabaseAvailable: () => database.isDatabaseAvailable(),
    });
  }

  /** Items that wait to run alone. */
  get waiting(): number {
    return this.alone.waiting;
  }

  get isIdle(): boolean {
    return this.alone.isIdle;
  }

  /** Resolves when no item runs alone. */
  whenIdle(): Promise<void> {
    return this.alone.whenIdle();
  }

  /** Removes and returns those that wait to run alone. */
  withdraw(): T[] {
    return this.alone.withdraw();
  }
}

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

/**
 * Why a batch was not settled.
 * - `unavailable`: the database did not answer; no item is to blame.
 * - `contention`: a row was locked, the database was slow, or one of our tables cannot be used; no item is to blame, and each
 *   part of the batch may wait as long. Items that do not need that row or table go on.
 * - `hang`: the handler did not end; one item is to blame, and each part that contains it hangs as long.
 * - `item`: one item of the batch is to blame.
 */
type Blame = 'unavailable' | 'contention' | 'hang' | 'item';

/** Pure. A lost connection to the database blames no item; a handler's lost connection to another server does. */
function blameFor(error: unknown): Blame {
  if (error instanceof HandlerFailure) return 'item';
  if (error instanceof HandlerTimeoutError) return error.isOfDatabase ? 'contention' : 'hang';
  if (isSchemaUnusable(error) || isContention(error)) return 'contention';
  return isDatabaseUnavailable(error) ? 'unavailable' : 'item';
}

/** What to write for a row that failed on its own. @param nowMs the database's time */
export function failureOf(error: unknown, nowMs: number): Failure {
  const reason = error instanceof Error ? error.message : String(error);
  switch (blameFor(error)) {
    case 'unavailable':
      return { reason, counted: false };
    case 'contention':
      return {
        reason,
        counted: false,
        afterMs: (due) => contentionBackoffMs(nowMs - due.dueAt.getTime(), Math.random()),
      };
    case 'hang':
    case 'item':
      return error instanceof HandlerTimeoutError ? { reason, afterMs: afterHang(error) } : { reason };
  }
}

/** At least as long as it hung, so that rows that hang take at most half of the time from the others. */
function afterHang({ limitMs }: HandlerTimeoutError): NonNullable<Failure['afterMs']> {
  return ({ attempts }) => Math.max(limitMs, backoffMs(attempts + 1, Math.random()));
}

/** How items of one sort are settled, and what becomes of those that cannot be. */
export interface BatchWork<T> {
  /** Settles the items in one transaction. @throws if nothing was written. */
  settleBatch(items: readonly T[]): Promise<void>;
  /** Records a failure of this item, which failed alone. */
  recordFailure(item: T, error: unknown): Promise<void>;
  /** Records that the item needs a row that another session holds. It is tried again later, and no attempt is counted. */
  postpone(item: T, error: unknown): Promise<void>;
  /** Nothing was written, because the database is unavailable. */
  onUnavailable(items: readonly T[], error: unknown): void;
}

/**
 * How batches that are settled gather. At 500 orders/s 10 ms give transactions of five instead of three, and each has nine
 * statements of its own. `besideMs` is longer than most take: a second one is for those that wait for a lock.
 */
export const GATHER = { waitMs: 10, besideMs: 20 } as const;

interface BatcherDependencies<T> {
  /** Most items in one run. */
  readonly size: number;
  /** How long the first item waits for others to join its batch, milliseconds. */
  readonly waitMs: number;
  /** The same while another run is in progress. The end of that run ends the wait, too. */
  readonly besideMs: number;
  /** Runs at once. */
  readonly concurrency: number;
  /** False: no further run begins until `poke`, for example while too many look-ups are open. */
  mayRun?(): boolean;
  /** Must not reject: it settles its items itself. */
  run(items: T[]): Promise<void>;
}

/**
 * Collects items into batches: a full batch runs at once, a smaller one after a short wait, and beside another run only
 * when that takes long: two transactions of three orders cost nearly twice as much as one of six.
 */
export class MicroBatcher<T> {
  private queue: T[] = [];
  private running = 0;
  private timer: Timer | undefined;
  private isRipe = false;
  private idle: (() => void)[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly deps: BatcherDependencies<T>,
  ) {}

  /** No item waits or is being run. */
  get isIdle(): boolean {
    return this.queue.length === 0 && this.running === 0;
  }

  /** Items that no run has begun. */
  get waiting(): number {
    return this.queue.length;
  }

  add(items: readonly T[]): void {
    if (items.length === 0) return;
    for (const item of items) this.queue.push(item);
    if (this.queue.length >= this.deps.size) this.isRipe = true;
    else this.timer ??= this.clock.after(this.waitMs, () => this.ripen());
    this.poke();
  }

  /** Looks again whether a batch may run. */
  poke(): void {
    while (this.isRipe && this.queue.length > 0 && this.running < this.deps.concurrency && this.mayRun()) {
      void this.runNext();
    }
    if (this.isIdle) for (const resolve of this.idle.splice(0)) resolve();
  }

  /** Takes back what no run has begun. */
  withdraw(): T[] {
    this.timer?.cancel();
    this.timer = undefined;
    this.isRipe = false;
    const items = this.queue.splice(0);
    this.poke();
    return items;
  }

  /** Resolves when nothing waits or runs. */
  whenIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve));
  }

  private get waitMs(): number {
    return this.running > 0 ? this.deps.besideMs : this.deps.waitMs;
  }

  private mayRun(): boolean {
    return this.deps.mayRun?.() ?? true;
  }

  private ripen(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.isRipe = true;
    this.poke();
  }

  private async runNext(): Promise<void> {
    const items = this.queue.splice(0, this.deps.size);
    // What stays behind has waited already, so it goes with the next free run.
    if (this.queue.length === 0) {
      this.isRipe = false;
      this.timer?.cancel();
      this.timer = undefined;
    }
    this.running++;
    try {
      await this.deps.run(items);
    } finally {
      this.running--;
      if (this.queue.length > 0) this.ripen();
      else this.poke();
    }
  }
}
