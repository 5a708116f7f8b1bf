import { Logger } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type DueBuffer } from '../../delay';
import {
  type TimeoutObserver,
  BUSY_MS,
  type LockedRow,
  type SettledBatch,
  type BatchSelection,
  type LockedRows,
  type BusyRow,
} from '../model/outcomes';
import { type TimeoutCause, type DueTimeout } from '../model/timeout';
import { type WorkItem, identitiesOf } from '../model/wake-up';
import { type BatchWork, failureOf } from './isolated-batches';
import { type ExternalLookups } from './external-lookups';
import { type TimeoutSettler } from './timeout-settler';
import { type DatabaseClock } from './database-clock';
import { type OutcomeRecorder, type SettlementQueries, type NextWakeUp } from './outcome-recorder';

interface SettlementDependencies extends WakeUpSelectionDependencies {
  readonly settler: TimeoutSettler;
  readonly lookups: ExternalLookups;
  /** Where wake-ups wait that came too early. */
  readonly buffer: DueBuffer<WorkItem>;
  readonly observer: Pick<TimeoutObserver, 'unavailable'>;
  /** Aborted when no work may begin. */
  readonly closing: AbortSignal;
}

/** Settles the timeouts that wake-ups name. */
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

/** The rows that these wake-ups name. */
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
