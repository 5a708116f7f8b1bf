import { type Clock } from '../../clock';
import { type PurgedKind, type PurgeStep } from './purge-step';

/** The number of deleted rows per kind. */
export type PurgeCounts = Readonly<Record<PurgedKind, number>>;

/** The result of one run. */
export interface PurgeRun extends PurgeCounts {
  /** The run used up its time. The next run continues where it stopped. */
  readonly hasMore: boolean;
}

/** The longest time of one run. Purging is not urgent, and deadlines come first. */
const BUDGET_MS = 1_000;

const NONE: PurgeCounts = { orders: 0, idempotencyKeys: 0, settledMoney: 0 };

/**
 * Deletes data whose retention has ended, in bounded steps. Several instances share the work by skipping locked rows.
 */
export class Purge {
  private stepsLeft: readonly PurgeStep[] = [];
  private after: readonly string[] | undefined;
  private sum: PurgeCounts = NONE;

  /** @param steps of the kinds that are not kept forever. */
  constructor(
    private readonly steps: readonly PurgeStep[],
    private readonly clock: Clock,
  ) {}

  /** Whether any kind is purged. */
  get isOn(): boolean {
    return this.steps.length > 0;
  }

  /** The numbers that this process has deleted since its start. */
  get totals(): PurgeCounts {
    return this.sum;
  }

  /**
   * Counts what is old enough to be purged. Open items may keep some of it.
   *
   * @param counted is called with the sum so far, after each page.
   * @internal
   */
  async count(counted: (counts: PurgeCounts) => void = () => undefined): Promise<PurgeCounts> {
    let counts = NONE;
    for (const step of this.steps) {
      let after: readonly string[] | undefined = step.beginning;
      while (after) {
        const { purged, next } = await step.countPage(after);
        counts = { ...counts, [step.kind]: counts[step.kind] + purged };
        counted(counts);
        after = next;
      }
    }
    return counts;
  }

  /** Continues the walk through the tables for at most a second, and starts again after their end. */
  async runOnce(signal?: AbortSignal): Promise<PurgeRun> {
    const endsAt = this.clock.monotonic() + BUDGET_MS;
    if (this.stepsLeft.length === 0) this.stepsLeft = this.steps;
    const before = this.sum;
    while (!signal?.aborted && this.clock.monotonic() < endsAt) {
      const [step, ...rest] = this.stepsLeft;
      if (!step) break;
      const { purged, next } = await step.purgePage(this.after ?? step.beginning);
      this.sum = { ...this.sum, [step.kind]: this.sum[step.kind] + purged };
      this.after = next;
      if (!next) this.stepsLeft = rest;
    }
    return { ...difference(this.sum, before), hasMore: this.stepsLeft.length > 0 };
  }
}

function difference(after: PurgeCounts, before: PurgeCounts): PurgeCounts {
  return {
    orders: after.orders - before.orders,
    idempotencyKeys: after.idempotencyKeys - before.idempotencyKeys,
    settledMoney: after.settledMoney - before.settledMoney,
  };
}
