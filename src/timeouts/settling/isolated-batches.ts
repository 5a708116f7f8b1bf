import { type Clock } from '../../clock';
import { type BatchWork } from './batch-work';
import { bisectFailures } from './bisect-failures';
import { MicroBatcher } from './micro-batcher';

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
