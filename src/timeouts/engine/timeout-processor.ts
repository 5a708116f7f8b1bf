import { type DataSource } from 'typeorm';
import { type Clock, withTimeout } from '../../clock';
import { type ScanRange } from '../../database';
import { type Outbox } from '../../outbox';
import { type Controls } from '../controls/controls';
import { HandlerAdapter } from '../handlers/handler-adapter';
import { type RegisteredHandler } from '../handlers/registered-handler';
import { type TimeoutCause, type TimeoutObserver, type WakeUpResult, type WorkItem } from '../model/timeout';
import { OverduePages, type SeenRow, type SweptPage } from './overdue-pages';
import { type DatabaseClock, DueBuffer } from './received-wake-ups';
import { ExternalLookups } from './external-lookups';
import { IsolatedBatches, WakeUpSettlement, GATHER, MicroBatcher } from './batches';
import { OutcomeRecorder, SettlementQueries, TimeoutSettler } from './timeout-settler';

interface ProcessorDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly outbox: Outbox;
  readonly writesWakeUps: boolean;
  readonly databaseClock: DatabaseClock;
  readonly observer: TimeoutObserver;
  /** What is early by less is kept in the process. What is early by more goes through the outbox again. */
  readonly longestHoldMs: number;
  readonly controls: Pick<Controls, 'paused'>;
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
    { kind, options, handler, isOwn }: RegisteredHandler,
    private readonly deps: ProcessorDependencies,
    private readonly clock: Clock,
  ) {
    this.kind = kind;
    const { databaseClock } = deps;
    const queries = new SettlementQueries(deps.schema);
    const recorder = new OutcomeRecorder({ ...deps, kind, queries, leaseMs: options.leaseMs });
    const shared = {
      ...{ ...deps, ...options, kind, isOwn, queries, recorder, clock },
      ...{
        handler: new HandlerAdapter(kind, handler, () => clock.monotonic()),
        closing: this.closing.signal,
        overdue: this.overdue,
      },
      isPaused: () => this.isPaused,
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

  /** An operator has paused the kind: its timeouts stay due. */
  get isPaused(): boolean {
    return this.deps.controls.paused.has(`kind:${this.kind}`);
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

/**
 * Tells timeouts of one kind whose wake-ups got lost from those whose wake-ups are here and wait. Load alone makes timeouts
 * overdue, and must not look like a fault of the broker.
 */
export class OverdueWakeUps {
  private readonly inProgress = new Map<string, number>();
  private missing = new Set<string>();
  private isBehind = false;

  /** Call it when a wake-up has come, however late. It is in progress until `finish` of the result is called. */
  track(item: WorkItem): WorkItem {
    const { wakeUp } = item;
    const identity = identityOf(wakeUp.key, wakeUp.generation);
    this.inProgress.set(identity, (this.inProgress.get(identity) ?? 0) + 1);
    this.missing.delete(identity);
    const finish = (result: WakeUpResult): void => {
      this.ended(identity);
      item.finish(result);
    };
    return { wakeUp, finish };
  }

  begin(): void {
    this.missing = new Set();
    this.isBehind = false;
  }

  found(rows: readonly SeenRow[]): void {
    for (const { key, generation, leased } of rows) {
      const identity = identityOf(key, generation);
      if (leased) continue;
      if (this.inProgress.has(identity)) this.isBehind = true;
      else this.missing.add(identity);
    }
  }

  /**
   * How many timeouts of the run no wake-up explains; fewer later, as late ones arrive. None when other wake-ups wait
   * here: then this process is behind, and so may be the others, whose wake-ups it does not see.
   */
  end(): () => number {
    const { missing } = this;
    return this.isBehind ? () => 0 : () => missing.size;
  }

  private ended(identity: string): void {
    const count = (this.inProgress.get(identity) ?? 0) - 1;
    if (count > 0) this.inProgress.set(identity, count);
    else this.inProgress.delete(identity);
  }
}

function identityOf(key: string, generation: string | null): string {
  return `${generation ?? '*'} ${key}`;
}

interface QueueDependencies {
  readonly batchSize: number;
  readonly concurrency: number;
  readonly batches: IsolatedBatches<WorkItem>;
  readonly lookups: ExternalLookups;
  readonly lookUpConcurrency: number;
  readonly pages: OverduePages;
  /** Aborted when no work may begin. */
  readonly closing: AbortSignal;
}

/** Wake-ups that are due: gathers them into batches, and has these settled while there is room for their look-ups. */
class DueQueue {
  private readonly batcher: MicroBatcher<WorkItem>;
  private readonly backlog: BacklogDrainer;

  constructor(
    private readonly deps: QueueDependencies,
    clock: Clock,
  ) {
    const { batchSize, concurrency, lookups, pages } = deps;
    this.batcher = new MicroBatcher(clock, {
      size: batchSize,
      ...GATHER,
      concurrency,
      mayRun: () => !this.hasNoRoom,
      run: (items) => this.runBatch(items),
    });
    lookups.whenRoom(() => this.batcher.poke());
    this.backlog = new BacklogDrainer({ pageSize: batchSize, queue: this, pages }, clock);
  }

  add(items: readonly WorkItem[]): void {
    this.batcher.add(items);
  }

  get waiting(): number {
    return this.batcher.waiting;
  }

  get isIdle(): boolean {
    return this.batcher.isIdle && this.deps.batches.isIdle;
  }

  /** More would only wait behind open look-ups, or behind what has to run alone; or nothing may begin. */
  get isSaturated(): boolean {
    const { batches, batchSize, closing } = this.deps;
    return closing.aborted || this.hasNoRoom || batches.waiting >= 2 * batchSize;
  }

  withdraw(): WorkItem[] {
    return [...this.batcher.withdraw(), ...this.deps.batches.withdraw()];
  }

  async whenIdle(): Promise<void> {
    await Promise.all([this.batcher.whenIdle(), this.deps.batches.whenIdle()]);
  }

  /** As many look-ups are open as may be. */
  private get hasNoRoom(): boolean {
    return this.deps.lookups.open.size >= this.deps.lookUpConcurrency;
  }

  private async runBatch(items: readonly WorkItem[]): Promise<void> {
    await this.backlog.workOff(items);
    // The pages of the backlog may have started all look-ups that may be open: these items wait until one has ended.
    if (this.hasNoRoom && !this.deps.closing.aborted) this.batcher.add(items);
    else await this.deps.batches.run(items);
  }
}

interface BacklogDependencies {
  /** Rows of a full page. */
  readonly pageSize: number;
  readonly queue: Pick<DueQueue, 'waiting' | 'isSaturated'>;
  readonly pages: Pick<OverduePages, 'settlePage' | 'settleNewest'>;
}

/** If so many batches of due wake-ups wait, they come faster than they are settled. */
const BATCHES_BEHIND = 2;

/** A wake-up of a small batch costs as much as its timeout, so there is nothing to gain. */
const LEAST_PAGE = 20;

/** Received deliveries are not acknowledged meanwhile, and the broker closes the channel after 30 min (`consumer_timeout`). */
const BUDGET_MS = 20_000;

/**
 * Behind a backlog, settles timeouts from the table, longest overdue first. Their wake-ups, received or still on the
 * broker, then find no row. So the broker's part, a third of the work of a burst, comes after the closings. The wake-ups
 * that wait at the end of a pass are settled before the next pass begins.
 *
 * Every second page is of what has only just fallen due: 50,000 orders that are brought due together take a minute, and the
 * others must not wait for it.
 */
export class BacklogDrainer {
  /** Wake-ups that waited when the last pass ended, and must be settled before the next one. */
  private leftByLastPass = 0;

  constructor(
    private readonly deps: BacklogDependencies,
    private readonly clock: Clock,
  ) {}

  /** Settles what is overdue if there is a backlog. Call it before settling these wake-ups. Never rejects. */
  async workOff(items: readonly WorkItem[]): Promise<void> {
    this.leftByLastPass = Math.max(this.leftByLastPass - items.length, 0);
    if (!this.isBehind() || items.some(isForOne)) return;
    const cause = items.some(({ wakeUp }) => wakeUp.cause === 'message') ? 'message' : 'sweep';
    const isPass = this.leftByLastPass === 0;
    const reading = isPass ? this.readAll(cause) : this.readNewest(cause);
    // The settling of the wake-ups meets the same error and reports it.
    await reading.catch(() => undefined);
    if (isPass) this.leftByLastPass = this.deps.queue.waiting;
  }

  private isBehind(): boolean {
    const { pageSize } = this.deps;
    return pageSize >= LEAST_PAGE && this.deps.queue.waiting >= BATCHES_BEHIND * pageSize;
  }

  /** Settles only what was overdue when it began, so that a row that is postponed meanwhile is not read again and again. */
  private async readAll(cause: TimeoutCause): Promise<void> {
    await this.readNewest(cause);
    const beganAt = this.clock.monotonic();
    let range: ScanRange | undefined;
    for (
      let passedMs = 0;
      passedMs < BUDGET_MS && !this.deps.queue.isSaturated;
      passedMs = this.clock.monotonic() - beganAt
    ) {
      range = (await this.deps.pages.settlePage(range, passedMs, cause)).next;
      if (!range) return;
      await this.readNewest(cause);
    }
  }

  private async readNewest(cause: TimeoutCause): Promise<void> {
    if (!this.deps.queue.isSaturated) await this.deps.pages.settleNewest(cause);
  }
}

/** Whether a read or an operator asked for this timeout. Then no other timeout is settled with it. */
function isForOne({ wakeUp }: WorkItem): boolean {
  return wakeUp.cause !== 'message' && wakeUp.cause !== 'sweep';
}
