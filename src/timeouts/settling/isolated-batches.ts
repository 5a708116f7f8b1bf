import { type Clock } from '../../clock';
import { type IsolatePlan, bisectFailures } from './bisect-failures';
import { MicroBatcher } from './micro-batcher';

interface BatchesDependencies<T> extends Omit<IsolatePlan<T>, 'apart'> {
  /** Items run alone at once. */
  readonly concurrency: number;
}

/** Settles batches. Items that would hold up later ones are run alone, a few at a time, beside the batches. */
export class IsolatedBatches<T> {
  private readonly alone: MicroBatcher<T>;

  constructor(
    private readonly deps: BatchesDependencies<T>,
    clock: Clock,
  ) {
    const { concurrency } = deps;
    const run = (items: readonly T[]): Promise<void> => this.settle(items);
    this.alone = new MicroBatcher(clock, { size: 1, waitMs: 0, besideMs: 0, concurrency, run });
  }

  /** Resolves when the items are settled, or wait to be run alone. Never rejects. */
  settle(items: readonly T[]): Promise<void> {
    return bisectFailures(items, { ...this.deps, apart: (part) => this.alone.add(part) });
  }

  /** Items that wait to be run alone. */
  get waiting(): number {
    return this.alone.waiting;
  }

  get isIdle(): boolean {
    return this.alone.isIdle;
  }

  /** Resolves when none is run alone. */
  whenIdle(): Promise<void> {
    return this.alone.whenIdle();
  }

  /** Takes back those that wait to be run alone. */
  withdraw(): T[] {
    return this.alone.withdraw();
  }
}
