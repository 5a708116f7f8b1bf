import { type Clock } from '../../clock';
import { type ExternalLookups } from '../lookups/external-lookups';
import { type IsolatedBatches } from '../settling/isolated-batches';
import { GATHER, MicroBatcher } from '../settling/micro-batcher';
import { BacklogDrainer } from '../sweeping/backlog-drainer';
import { type OverduePages } from '../sweeping/overdue-pages';
import { type WorkItem } from './work-item';

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
