import { Logger } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type Clock, type Timer } from '../../clock';
import {
  isContention,
  isDatabaseUnavailable,
  isOfRows,
  isSchemaUnusable,
  isTriggerBroken,
  contentionBackoffMs,
} from '../../database';
import { HandlerFailure, HandlerTimeoutError } from '../model/errors';
import {
  backoffMs,
  type TimeoutObserver,
  BUSY_MS,
  type LockedRow,
  type SettledBatch,
  type BatchSelection,
  type LockedRows,
  type BusyRow,
  type TimeoutCause,
  type DueTimeout,
  type WakeUpResult,
  type WorkItem,
  identitiesOf,
} from '../model/timeout';
import {
  type Failure,
  type TimeoutSettler,
  type OutcomeRecorder,
  type SettlementQueries,
  type NextWakeUp,
} from './timeout-settler';
import { type DatabaseClock, type DueBuffer } from './received-wake-ups';

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

  get waiting(): number {
    return this.alone.waiting;
  }

  get isIdle(): boolean {
    return this.alone.isIdle;
  }

  whenIdle(): Promise<void> {
    return this.alone.whenIdle();
  }

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
 * that takes longer than the pool waits. Or rows of some are damaged. Given back together they would come again together, and
 * stop their kind for good.
 */
async function blameInContext(error: unknown, context: Pick<Bisection<never>, 'isDatabaseAvailable'>): Promise<Blame> {
  const blame = blameFor(error);
  return blame === 'unavailable' && isOfRows(error) && (await context.isDatabaseAvailable()) ? 'contention' : blame;
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
 * - `contention`: a row was locked, the database was slow, or one of our tables cannot be used, perhaps because of a trigger;
 *   no item is to blame, and each part of the batch may wait as long. Items that do not need that row or table go on.
 * - `hang`: the handler did not end; one item is to blame, and each part that contains it hangs as long.
 * - `item`: one item of the batch is to blame.
 */
type Blame = 'unavailable' | 'contention' | 'hang' | 'item';

/** Pure. A lost connection to the database blames no item; a handler's lost connection to another server does. */
function blameFor(error: unknown): Blame {
  if (error instanceof HandlerFailure) return 'item';
  if (error instanceof HandlerTimeoutError) return error.isOfDatabase ? 'contention' : 'hang';
  if (isSchemaUnusable(error) || isTriggerBroken(error) || isContention(error)) return 'contention';
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

  poke(): void {
    const { concurrency } = this.deps;
    while (this.isRipe && this.queue.length > 0 && this.running < concurrency && this.deps.mayRun?.() !== false)
      void this.runNext();
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

  whenIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve));
  }

  private get waitMs(): number {
    return this.running > 0 ? this.deps.besideMs : this.deps.waitMs;
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

interface SettlementDependencies extends WakeUpSelectionDependencies {
  readonly settler: TimeoutSettler;
  readonly lookups: {
    isLookingUp(key: string): boolean;
    lookUp(due: DueTimeout, lease: string, done: (result: WakeUpResult) => void): Promise<void>;
  };
  /** Where wake-ups wait that came too early. */
  readonly buffer: DueBuffer<WorkItem>;
  readonly observer: Pick<TimeoutObserver, 'unavailable'>;
  /** Aborted when no work may begin. */
  readonly closing: AbortSignal;
}

export class WakeUpSettlement implements BatchWork<WorkItem> {
  private readonly logger: Logger;

  constructor(private readonly deps: SettlementDependencies) {
    this.logger = new Logger(`Timeouts:${deps.kind}`);
  }

  async settleBatch(items: readonly WorkItem[]): Promise<void> {
    this.committed(await this.deps.settler.settle(new WakeUpSelection(items, this.deps)), items);
  }

  async recordFailure(item: WorkItem, error: unknown): Promise<void> {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    this.logger.error(`handling "${item.wakeUp.key}" failed: ${message}`, stack);
    await this.postpone(item, error);
  }

  async postpone(item: WorkItem, error: unknown): Promise<void> {
    const { settler, databaseClock } = this.deps;
    await settler.fail(item.wakeUp, item.wakeUp.cause, failureOf(error, databaseClock.nowMs()));
    item.finish('finished');
  }

  onUnavailable(items: readonly WorkItem[], error: unknown): void {
    this.deps.observer.unavailable(this.deps.kind, error);
    items.forEach((item) => item.finish('unwritten'));
  }

  /** The batch is durable: tells those who brought the wake-ups, and starts the look-ups that the handler asked for. */
  private committed(batch: SettledBatch, items: readonly WorkItem[]): void {
    const { asked, near, finished } = sortItems(items, batch, this.deps.longestHoldMs);
    near.forEach(({ item, row }) => this.bufferAgain(item, row));
    finished.forEach((item) => item.finish('finished'));
    for (const { due, items: waiters } of asked) {
      void this.deps.lookups.lookUp(due, batch.lease, (result) => waiters.forEach((item) => item.finish(result)));
    }
  }

  private bufferAgain(item: WorkItem, row: LockedRow): void {
    const { buffer, closing, databaseClock } = this.deps;
    if (closing.aborted) return item.finish('unwritten');
    const waitMs = row.remaining_ms > 0 ? row.remaining_ms : BUSY_MS;
    buffer.add(item, databaseClock.nowMs() + waitMs);
  }
}

interface WakeUpSelectionDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly recorder: OutcomeRecorder;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly lookups: { isLookingUp(key: string): boolean };
  /** What is early by less is kept in the process. What is early by more goes through the outbox again. */
  readonly longestHoldMs: number;
  /** Then the wake-ups are over, and the sweep finds the timeouts later. */
  isPaused(): boolean;
}

class WakeUpSelection implements BatchSelection {
  private readonly causes: ReadonlyMap<string, TimeoutCause>;

  constructor(
    private readonly items: readonly WorkItem[],
    private readonly deps: WakeUpSelectionDependencies,
  ) {
    this.causes = new Map(items.map(({ wakeUp }) => [wakeUp.key, wakeUp.cause]));
  }

  causeOf({ key }: LockedRow): TimeoutCause {
    return this.causes.get(key) ?? 'message';
  }

  async lock(tx: EntityManager): Promise<LockedRows> {
    const { kind, queries, recorder, databaseClock, lookups, longestHoldMs } = this.deps;
    const { keys, generations } = identitiesOf(this.items.map(({ wakeUp }) => wakeUp));
    const rows = await tx.query<BusyRow[]>(queries.lockByKeys, [kind, keys, generations]);
    const { due, early } = splitDue(rows, this.items, (key) => lookups.isLookingUp(key));
    const far = early.filter((row) => row.remaining_ms > longestHoldMs);
    await recorder.wakeLater(tx, wakeLater(far, this.items, databaseClock.nowMs()));
    return { due: this.deps.isPaused() ? [] : due, early };
  }
}

/**
 * Separates rows to handle now from early ones, which are not due, leased, or locked by another transaction.
 *
 * A leased row counts as due if its wake-up was redelivered and this process is not looking it up: the process that did has
 * ended or has lost its connection. Waiting for its lease would take up to 20 s. The new lease fences its answer.
 */
function splitDue(
  rows: readonly BusyRow[],
  items: readonly WorkItem[],
  isLookingUp: (key: string) => boolean,
): { readonly due: readonly BusyRow[]; readonly early: readonly BusyRow[] } {
  const redelivered = new Set(items.filter(({ wakeUp }) => wakeUp.isRedelivered).map(({ wakeUp }) => wakeUp.key));
  const isAbandoned = ({ key, leased }: BusyRow): boolean => leased && redelivered.has(key) && !isLookingUp(key);
  const isDue = (row: BusyRow): boolean => !row.busy && (row.remaining_ms <= 0 || isAbandoned(row));
  return { due: rows.filter(isDue), early: rows.filter((row) => !isDue(row)) };
}

/** A row that is due this much later than its message says was moved after that was written. */
const MOVED_MS = 1_000;

/**
 * The rows among those far too early that need another wake-up: those whose message came too early, and leased
 * ones, in case their owner dies. A transaction that postpones a row has written its next wake-up too, and
 * a read or a sweep must not turn into messages: twenty reads of one order would be twenty messages more.
 */
export function wakeLater(rows: readonly BusyRow[], items: readonly WorkItem[], nowMs: number): NextWakeUp[] {
  const messages = new Map(
    items.filter(({ wakeUp }) => wakeUp.cause === 'message').map(({ wakeUp }) => [wakeUp.key, wakeUp.dueAtMs]),
  );
  return rows.flatMap(({ key, generation, leased, remaining_ms }) => {
    const saidMs = messages.get(key);
    const due_ms = nowMs + remaining_ms;
    const isNeeded = saidMs !== undefined && (leased || due_ms - saidMs < MOVED_MS);
    return isNeeded ? [{ key, generation, due_ms }] : [];
  });
}

interface SortedItems {
  /** Timeouts whose providers are asked now, with the items that wait for it. */
  readonly asked: readonly { readonly due: DueTimeout; readonly items: readonly WorkItem[] }[];
  /** Items whose rows were not due yet or locked; they are held and tried again soon. */
  readonly near: readonly { readonly item: WorkItem; readonly row: LockedRow }[];
  readonly finished: readonly WorkItem[];
}

/** Pure: what a committed batch means for the items that brought it about. */
function sortItems(items: readonly WorkItem[], batch: SettledBatch, longestHoldMs: number): SortedItems {
  const asked = batch.settled.flatMap(({ outcome, due }) => (outcome.type === 'look-up' ? [due] : []));
  const waiting = new Map(asked.map(({ key }) => [key, [] as WorkItem[]]));
  const early = batch.early.filter((row) => row.remaining_ms <= longestHoldMs);
  const nearRows = new Map(early.map((row) => [row.key, row]));
  const near: { item: WorkItem; row: LockedRow }[] = [];
  const finished: WorkItem[] = [];
  for (const item of items) {
    const { key, generation } = item.wakeUp;
    const row = nearRows.get(key);
    const waiters = waiting.get(key);
    if (waiters) waiters.push(item);
    else if (row && generation !== null) near.push({ item, row });
    else finished.push(item);
  }
  return { asked: asked.map((due) => ({ due, items: waiting.get(due.key) ?? [] })), near, finished };
}
