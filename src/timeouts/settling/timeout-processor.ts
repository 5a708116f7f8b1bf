import { type EntityManager } from 'typeorm';
import { Logger } from '@nestjs/common';
import { type Clock, withTimeout } from '../../clock';
import { DueBuffer } from '../../delay';
import { type ScanRange } from '../../database';
import { ExternalLookups } from './external-lookups';
import { BacklogDrainer } from '../sweeping/backlog-drainer';
import { failureOf } from './failure-of';
import { IsolatedBatches } from './isolated-batches';
import { BUSY_MS, type BusyRow, type LockedRow } from './locked-timeout';
import { logParked } from './log-parked';
import { GATHER, MicroBatcher } from './micro-batcher';
import { sortItems } from './sort-items';
import { splitDue } from './split-due';
import { type SettledBatch, type Selection } from './timeout-settler';
import { type SweptPage } from '../sweeping/swept-page';
import { OverduePages } from '../sweeping/overdue-pages';
import { OverdueWakeUps } from '../sweeping/overdue-wake-ups';
import { wakeLater } from '../wake-ups/wake-later';
import { identitiesOf } from '../wake-ups/wake-up';
import { type WorkItem } from '../wake-ups/work-item';
import { type ProcessorDependencies } from './processor-dependencies';

/** All work on the timeouts of one kind in this process, whichever clock brings it. */
export class TimeoutProcessor {
  readonly kind: string;
  readonly overdue = new OverdueWakeUps();
  private readonly logger: Logger;
  private readonly hold: DueBuffer<WorkItem>;
  private readonly batcher: MicroBatcher<WorkItem>;
  private readonly batches: IsolatedBatches<WorkItem>;
  private readonly pages: OverduePages;
  private readonly backlog: BacklogDrainer;
  private readonly asks: ExternalLookups;
  private isClosing = false;
  private readonly onAwayListeners: ((error: unknown) => void)[] = [];

  constructor(
    private readonly deps: ProcessorDependencies,
    private readonly clock: Clock,
  ) {
    const { kind, options, databaseClock } = deps;
    this.kind = kind;
    this.logger = new Logger(`Timeouts:${kind}`);
    this.batcher = new MicroBatcher(clock, {
      size: options.batchSize,
      ...GATHER,
      concurrency: options.concurrency,
      mayRun: () => this.asks.openCount < options.lookUpConcurrency,
      run: (items) => this.run(items),
    });
    this.batches = new IsolatedBatches(
      {
        concurrency: options.concurrency,
        settle: (part) => this.settleTogether(part),
        isDatabaseThere: () => deps.settler.isDatabaseThere(),
        failed: (item, error) => this.fail(item, error),
        held: (item, error) => this.putOff(item, error),
        away: (part, error) => {
          this.away(error);
          part.forEach((item) => item.finish('unwritten'));
        },
      },
      clock,
    );
    const { overdue } = this;
    this.pages = new OverduePages({
      ...{ ...deps, clock, overdue },
      pageSize: options.batchSize,
      committed: (batch) => this.committed(batch),
      recover: (items) => this.batches.settle(items),
    });
    this.backlog = new BacklogDrainer(
      {
        pageSize: options.batchSize,
        waiting: () => this.batcher.waiting,
        mayGoOn: () => !this.isClosing && !this.isSaturated,
        readPage: (range, overdueByMs, cause) => this.pages.handle(range, overdueByMs, cause),
      },
      clock,
    );
    this.hold = new DueBuffer(clock, { nowMs: () => databaseClock.nowMs(), onDue: (items) => this.batcher.add(items) });
    this.asks = new ExternalLookups(
      {
        ...deps,
        ...options,
        committed: (batch) => this.committed(batch),
        away: (error) => this.away(error),
        closed: () => this.batcher.poke(),
      },
      clock,
    );
  }

  /** Calls `listener` whenever something could not be written down. */
  onAway(listener: (error: unknown) => void): void {
    this.onAwayListeners.push(listener);
  }

  /** Handles a wake-up when it is due. If that is far off, it goes round through the outbox, and frees its place of the prefetch. */
  add(given: WorkItem): void {
    const item = this.overdue.track(given);
    const { dueAtMs } = item.wakeUp;
    const earlyMs = dueAtMs - this.deps.databaseClock.nowMs();
    if (earlyMs > this.deps.longestHoldMs) this.batcher.add([item]);
    else this.hold.add(item, dueAtMs);
  }

  /** Nothing that is due waits or is being settled. */
  get isIdle(): boolean {
    return this.batcher.isIdle && this.batches.isIdle;
  }

  /** True while more would only queue up behind open questions, or behind what has to be run alone. */
  get isSaturated(): boolean {
    return this.isAsking || this.batches.waiting >= 2 * this.deps.options.batchSize;
  }

  private get isAsking(): boolean {
    return this.asks.openCount >= this.deps.options.lookUpConcurrency;
  }

  /** Handles one page of rows overdue by at least `marginMs`. @throws when the database cannot be asked. */
  sweepPage(range: ScanRange | undefined, marginMs: number): Promise<SweptPage> {
    return this.pages.handle(range, marginMs, 'sweep');
  }

  /** Waits at most `ms` for what is in hand; what has not begun, or takes longer, is given back. */
  async close(ms: number): Promise<void> {
    this.isClosing = true;
    const waiting = [...this.hold.drain(), ...this.batcher.withdraw(), ...this.batches.withdraw()];
    waiting.forEach((item) => item.finish('unwritten'));
    const idle = Promise.all([this.batcher.whenIdle(), this.batches.whenIdle()]).then(() => this.asks.whenIdle());
    await withTimeout(this.clock, ms, idle, undefined);
    this.asks.abort();
  }

  private async run(items: readonly WorkItem[]): Promise<void> {
    await this.backlog.workOff(items);
    // Its pages have asked all that may be asked at once: these wait for an answer, which pokes the batcher.
    if (this.isAsking && !this.isClosing) this.batcher.add(items);
    else await this.batches.settle(items);
  }

  private async settleTogether(items: readonly WorkItem[]): Promise<void> {
    const causes = new Map(items.map(({ wakeUp }) => [wakeUp.key, wakeUp.cause]));
    const batch = await this.deps.settler.settle(
      (tx) => this.select(tx, items),
      (row) => causes.get(row.key) ?? 'message',
    );
    this.committed(batch, items);
  }

  private async select(tx: EntityManager, items: readonly WorkItem[]): Promise<Selection> {
    const { keys, generations } = identitiesOf(items.map(({ wakeUp }) => wakeUp));
    const rows = await tx.query<BusyRow[]>(this.deps.queries.lockByKeys, [this.deps.kind, keys, generations]);
    const { due, early } = splitDue(rows, items, (key) => this.asks.isLookingUp(key));
    const far = early.filter((row) => row.remaining_ms > this.deps.longestHoldMs);
    await this.deps.recorder.wakeLater(tx, wakeLater(far, items, this.deps.databaseClock.nowMs()));
    return { due, early };
  }

  /** Everything in `batch` is durable now: tell those who brought it, and ask what has to be asked. */
  private committed(batch: SettledBatch, items: readonly WorkItem[] = []): void {
    this.deps.observer.settled(this.kind, batch.settled, this.deps.databaseClock.nowMs());
    logParked(this.logger, batch);
    const { asked, near, finished } = sortItems(items, batch, this.deps.longestHoldMs);
    near.forEach(({ item, row }) => this.holdAgain(item, row));
    finished.forEach((item) => item.finish('finished'));
    for (const { due, items: waiters } of asked) {
      void this.asks.lookUp(due, batch.lease, (result) => waiters.forEach((item) => item.finish(result)));
    }
  }

  private holdAgain(item: WorkItem, row: LockedRow): void {
    if (this.isClosing) return item.finish('unwritten');
    const waitMs = row.remaining_ms > 0 ? row.remaining_ms : BUSY_MS;
    this.hold.add(item, this.deps.databaseClock.nowMs() + waitMs);
  }

  private async fail(item: WorkItem, error: unknown): Promise<void> {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    this.logger.error(`handling "${item.wakeUp.key}" failed: ${message}`, stack);
    await this.putOff(item, error);
  }

  private async putOff(item: WorkItem, error: unknown): Promise<void> {
    const { settler, databaseClock } = this.deps;
    const { wakeUp } = item;
    this.committed(await settler.fail(wakeUp, wakeUp.cause, failureOf(error, databaseClock.nowMs())));
    item.finish('finished');
  }

  private away(error: unknown): void {
    this.deps.observer.away(this.kind, error);
    for (const listener of this.onAwayListeners) listener(error);
  }
}
