import { type DataSource } from 'typeorm';
import { type Clock, withTimeout } from '../../clock';
import { type ScanRange } from '../../database';
import { DueBuffer } from '../../delay';
import { type Outbox } from '../../outbox';
import { HandlerAdapter } from '../handlers/handler-adapter';
import { type RegisteredHandler } from '../handlers/registered-handler';
import { type TimeoutObserver } from '../model/outcomes';
import { type WorkItem } from '../model/wake-up';
import { OverduePages, OverdueWakeUps, type SweptPage } from './overdue-pages';
import { DueQueue } from './due-queue';
import { type DatabaseClock } from './database-clock';
import { ExternalLookups } from './external-lookups';
import { IsolatedBatches } from './isolated-batches';
import { OutcomeRecorder, SettlementQueries } from './outcome-recorder';
import { TimeoutSettler } from './timeout-settler';
import { WakeUpSettlement } from './wake-up-settlement';

interface ProcessorDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly outbox: Outbox;
  readonly writesWakeUps: boolean;
  readonly databaseClock: DatabaseClock;
  readonly observer: TimeoutObserver;
  /** What is early by less is kept in the process. What is early by more goes through the outbox again. */
  readonly longestHoldMs: number;
  /** An operator has paused the kind: its timeouts stay due. */
  isPaused(): boolean;
}

/**
 * All work on the timeouts of one kind in this process, whether a wake-up or the sweep brings it:
 * buffer until due → queue of due wake-ups → batch → one transaction → look-ups.
 */
export class TimeoutProcessor {
  readonly kind: string;
  readonly overdue = new OverdueWakeUps();
  private readonly closing = new AbortController();
  private readonly buffer: DueBuffer<WorkItem>;
  private readonly queue: DueQueue;
  private readonly pages: OverduePages;
  private readonly lookups: ExternalLookups;

  constructor(
    { kind, options, handler }: RegisteredHandler,
    private readonly deps: ProcessorDependencies,
    private readonly clock: Clock,
  ) {
    this.kind = kind;
    const { databaseClock } = deps;
    const queries = new SettlementQueries(deps.schema);
    const recorder = new OutcomeRecorder({ ...deps, kind, queries, leaseMs: options.leaseMs });
    const shared = {
      ...{ ...deps, ...options, kind, queries, recorder, clock },
      ...{ handler: new HandlerAdapter(kind, handler), closing: this.closing.signal, overdue: this.overdue },
    };
    const settler = new TimeoutSettler(shared, clock);
    this.lookups = new ExternalLookups({ ...shared, settler }, clock);
    this.buffer = new DueBuffer(clock, { nowMs: () => databaseClock.nowMs(), onDue: (items) => this.queue.add(items) });
    const { lookups, buffer } = this;
    const work = new WakeUpSettlement({ ...shared, settler, lookups, buffer });
    const batches = new IsolatedBatches({ work, database: settler, concurrency: options.concurrency }, clock);
    this.pages = new OverduePages({ ...shared, settler, lookups, batches, pageSize: options.batchSize });
    this.queue = new DueQueue({ ...shared, batches, lookups, pages: this.pages }, clock);
  }

  /** Handles a wake-up when it is due. If that is far off, its next one is written to the outbox, and its prefetch slot is free. */
  add(given: WorkItem): void {
    const item = this.overdue.track(given);
    const { dueAtMs } = item.wakeUp;
    const earlyMs = dueAtMs - this.deps.databaseClock.nowMs();
    if (earlyMs > this.deps.longestHoldMs) this.queue.add([item]);
    else this.buffer.add(item, dueAtMs);
  }

  /** Nothing that is due waits or is being settled. */
  get isIdle(): boolean {
    return this.queue.isIdle;
  }

  /** More would only wait behind open look-ups, or behind what has to run alone. */
  get isSaturated(): boolean {
    return this.queue.isSaturated;
  }

  /** Settles one page of rows overdue by at least `marginMs`. @throws if the database does not answer. */
  sweepPage(range: ScanRange | undefined, marginMs: number): Promise<SweptPage> {
    return this.pages.settlePage(range, marginMs, 'sweep');
  }

  /** Resolves when nothing that is due waits or is being settled, and no look-up is open. */
  async whenIdle(): Promise<void> {
    await this.queue.whenIdle();
    await this.lookups.whenIdle();
  }

  /** Waits at most `ms` for what has begun. What has not begun, or takes longer, is returned. */
  async close(ms: number): Promise<void> {
    this.closing.abort();
    const waiting = [...this.buffer.drain(), ...this.queue.withdraw()];
    waiting.forEach((item) => item.finish('unwritten'));
    await withTimeout(this.clock, ms, this.whenIdle(), undefined);
    this.lookups.abort();
  }
}
