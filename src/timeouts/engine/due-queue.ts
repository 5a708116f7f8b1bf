import { type Clock } from '../../clock';
import { type ScanRange } from '../../database';
import { type TimeoutCause } from '../model/timeout';
import { type WorkItem } from '../model/wake-up';
import { type ExternalLookups } from './external-lookups';
import { type IsolatedBatches, GATHER, MicroBatcher } from './isolated-batches';
import { type OverduePages } from './overdue-pages';

interface QueueDependencies {
  readonly batchSize: number;
  readonly concurrency: number;
  readonly batches: IsolatedBatches<WorkItem>;
  readonly lookups: ExternalLookups;
  readonly pages: OverduePages;
  /** Aborted when no work may begin. */
  readonly closing: AbortSignal;
}

/** Wake-ups that are due: gathers them into batches, and has these settled while there is room for their look-ups. */
export class DueQueue {
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
      mayRun: () => !lookups.isFull,
      run: (items) => this.runBatch(items),
    });
    lookups.whenRoom(() => this.batcher.poke());
    this.backlog = new BacklogDrainer({ pageSize: batchSize, queue: this, pages }, clock);
  }

  add(items: readonly WorkItem[]): void {
    this.batcher.add(items);
  }

  /** Wake-ups that no run has begun. */
  get waiting(): number {
    return this.batcher.waiting;
  }

  /** No wake-up waits or is being settled. */
  get isIdle(): boolean {
    return this.batcher.isIdle && this.deps.batches.isIdle;
  }

  /** More would only wait behind open look-ups, or behind what has to run alone; or nothing may begin. */
  get isSaturated(): boolean {
    const { lookups, batches, batchSize, closing } = this.deps;
    return closing.aborted || lookups.isFull || batches.waiting >= 2 * batchSize;
  }

  /** Removes and returns what no run has begun. */
  withdraw(): WorkItem[] {
    return [...this.batcher.withdraw(), ...this.deps.batches.withdraw()];
  }

  async whenIdle(): Promise<void> {
    await Promise.all([this.batcher.whenIdle(), this.deps.batches.whenIdle()]);
  }

  private async runBatch(items: readonly WorkItem[]): Promise<void> {
    await this.backlog.workOff(items);
    // The pages of the backlog may have started all look-ups that may be open: these items wait until one has ended.
    if (this.deps.lookups.isFull && !this.deps.closing.aborted) this.batcher.add(items);
    else await this.deps.batches.run(items);
  }
}

interface BacklogDependencies {
  /** Rows of a full page. */
  readonly pageSize: number;
  readonly queue: {
    /** Wake-ups here whose timeouts are due, and that no run has begun. */
    readonly waiting: number;
    /** More would only wait behind something else, or nothing may begin. */
    readonly isSaturated: boolean;
  };
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
