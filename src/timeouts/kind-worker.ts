import { type EntityManager } from 'typeorm';
import { Logger } from '@nestjs/common';
import { type Clock, within } from '../clock';
import { Hold } from '../delay';
import { AskRound } from './ask-round';
import { Backlog } from './backlog';
import { settleIsolated } from './isolate';
import { BUSY_MS, type BusyRow, type LockedRow } from './locked-timeout';
import { logParked } from './log-parked';
import { GATHER, MicroBatcher } from './micro-batcher';
import { type SettledBatch, type Selection } from './timeout-settler';
import { type SweepCursor, type SweptPage } from './swept-page';
import { OverduePages } from './overdue-pages';
import { wakeLater } from './wake-later';
import { identitiesOf } from './wake-up';
import { type WorkItem } from './work-item';
import { type WorkerPlan } from './worker-plan';

/** All work on the timeouts of one kind in this process, whichever clock brings it. */
export class KindWorker {
  readonly kind: string;
  private readonly logger: Logger;
  private readonly hold: Hold<WorkItem>;
  private readonly batcher: MicroBatcher<WorkItem>;
  private readonly pages: OverduePages;
  private readonly backlog: Backlog;
  private readonly asks: AskRound;
  private isClosing = false;
  private readonly onAwayListeners: ((error: unknown) => void)[] = [];

  constructor(
    private readonly plan: WorkerPlan,
    private readonly clock: Clock,
  ) {
    const { kind, options, databaseClock } = plan;
    this.kind = kind;
    this.logger = new Logger(`Timeouts:${kind}`);
    this.batcher = new MicroBatcher(clock, {
      size: options.batchSize,
      ...GATHER,
      concurrency: options.concurrency,
      mayRun: () => this.asks.openCount < options.askConcurrency,
      run: (items) => this.run(items),
    });
    this.pages = new OverduePages({
      ...plan,
      pageSize: options.batchSize,
      committed: (batch) => this.committed(batch),
      recover: (items) => this.settle(items),
    });
    this.backlog = new Backlog(
      {
        pageSize: options.batchSize,
        waiting: () => this.batcher.waiting,
        mayGoOn: () => !this.isClosing && !this.isSaturated,
        readPage: (cursor, overdueByMs, cause) => this.pages.handle(cursor, overdueByMs, cause),
      },
      clock,
    );
    this.hold = new Hold(clock, {
      nowMs: () => databaseClock.nowMs(),
      onDue: (items) => this.batcher.add(items),
    });
    this.asks = new AskRound(
      {
        ...plan,
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

  /** Takes a wake-up over and handles it when it is due. */
  add(item: WorkItem): void {
    const { dueAtMs } = item.wakeUp;
    const earlyMs = dueAtMs - this.plan.databaseClock.nowMs();
    // Far too early: it must not take a place of the prefetch for long, and goes round through the outbox.
    if (earlyMs > this.plan.longestHoldMs) this.batcher.add([item]);
    else this.hold.add(item, dueAtMs);
  }

  /** Nothing that is due waits or is being settled. */
  get isIdle(): boolean {
    return this.batcher.isIdle;
  }

  /** True while more would only queue up behind open questions. */
  get isSaturated(): boolean {
    return this.asks.openCount >= this.plan.options.askConcurrency;
  }

  /** Handles one page of rows overdue by at least `marginMs`. @throws when the database cannot be asked. */
  sweepPage(cursor: SweepCursor, marginMs: number): Promise<SweptPage> {
    return this.pages.handle(cursor, marginMs, 'sweep');
  }

  /** Waits at most `ms` for what is in hand; what has not begun, or takes longer, is given back. */
  async close(ms: number): Promise<void> {
    this.isClosing = true;
    for (const item of [...this.hold.drain(), ...this.batcher.withdraw()]) item.finish('unwritten');
    const idle = this.batcher.whenIdle().then(() => this.asks.whenIdle());
    await within(this.clock, ms, idle, undefined);
    this.asks.abort();
  }

  private async run(items: readonly WorkItem[]): Promise<void> {
    await this.backlog.workOff(items);
    // Its pages have asked all that may be asked at once: these wait for an answer, which pokes the batcher.
    if (this.isSaturated && !this.isClosing) this.batcher.add(items);
    else await this.settle(items);
  }

  private settle(items: readonly WorkItem[]): Promise<void> {
    return settleIsolated(items, {
      settle: (part) => this.settleTogether(part),
      isDatabaseThere: () => this.plan.settler.isDatabaseThere(),
      failed: (item, error) => this.fail(item, error),
      away: (part, error) => {
        this.away(error);
        for (const item of part) item.finish('unwritten');
      },
    });
  }

  private async settleTogether(items: readonly WorkItem[]): Promise<void> {
    const causes = new Map(items.map(({ wakeUp }) => [wakeUp.key, wakeUp.cause]));
    const batch = await this.plan.settler.settle(
      (tx) => this.select(tx, items),
      (row) => causes.get(row.key) ?? 'message',
    );
    this.committed(batch, items);
  }

  private async select(tx: EntityManager, items: readonly WorkItem[]): Promise<Selection> {
    const { keys, generations } = identitiesOf(items.map(({ wakeUp }) => wakeUp));
    const rows = await tx.query<BusyRow[]>(this.plan.queries.lockByKeys, [this.plan.kind, keys, generations]);
    const early = rows.filter((row) => row.busy || row.remaining_ms > 0);
    const far = early.filter((row) => row.remaining_ms > this.plan.longestHoldMs);
    await this.plan.recorder.wakeLater(tx, wakeLater(far, items, this.plan.databaseClock.nowMs()));
    return { due: rows.filter((row) => !row.busy && row.remaining_ms <= 0), early };
  }

  /** Everything in `batch` is durable now: tell those who brought it, and ask what has to be asked. */
  private committed(batch: SettledBatch, items: readonly WorkItem[] = []): void {
    this.plan.observer.settled(this.kind, batch.settled, this.plan.databaseClock.nowMs());
    logParked(this.logger, batch);
    const asked = new Map(
      batch.settled.filter(({ outcome }) => outcome.type === 'ask').map(({ due }) => [due.key, due]),
    );
    const near = new Map(
      batch.early.filter((row) => row.remaining_ms <= this.plan.longestHoldMs).map((row) => [row.key, row]),
    );
    const waiting = new Map<string, WorkItem[]>();
    for (const item of items) {
      const row = near.get(item.wakeUp.key);
      if (asked.has(item.wakeUp.key)) waiting.set(item.wakeUp.key, [...(waiting.get(item.wakeUp.key) ?? []), item]);
      else if (row && item.wakeUp.generation !== null) this.holdAgain(item, row);
      else item.finish('finished');
    }
    for (const due of asked.values()) {
      void this.asks.ask(due, batch.lease, (result) => {
        for (const item of waiting.get(due.key) ?? []) item.finish(result);
      });
    }
  }

  private holdAgain(item: WorkItem, row: LockedRow): void {
    if (this.isClosing) return item.finish('unwritten');
    const waitMs = row.remaining_ms > 0 ? row.remaining_ms : BUSY_MS;
    this.hold.add(item, this.plan.databaseClock.nowMs() + waitMs);
  }

  private async fail(item: WorkItem, error: unknown): Promise<void> {
    const { wakeUp } = item;
    const reason = error instanceof Error ? error.message : String(error);
    this.logger.error(`handling "${wakeUp.key}" failed: ${reason}`, error instanceof Error ? error.stack : undefined);
    this.committed(await this.plan.settler.fail(wakeUp, wakeUp.cause, { reason }));
    item.finish('finished');
  }

  private away(error: unknown): void {
    this.plan.observer.away(this.kind, error);
    for (const listener of this.onAwayListeners) listener(error);
  }
}
