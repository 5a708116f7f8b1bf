import { type Clock } from '../../clock';
import { type PurgedKind, type PurgeStep } from './purge-step';

/** How many of each kind were deleted. */
export type PurgeCounts = Readonly<Record<PurgedKind, number>>;

/** What one run did. */
export interface PurgeRun extends PurgeCounts {
  /** The run ended by its budget; the next one goes on where it stopped. */
  readonly hasMore: boolean;
}

/** Most work of one run: what is purged is in no hurry, and deadlines come first. */
const BUDGET_MS = 1_000;

const NONE: PurgeCounts = { orders: 0, idempotencyKeys: 0, settledMoney: 0 };

/** Deletes what its retention has passed, a bounded piece at a time. Several instances share the work by skipping locks. */
export class Purge {
  private stepsLeft: readonly PurgeStep[] = [];
  private after: readonly string[] | undefined;
  private sum: PurgeCounts = NONE;

  /** @param steps of the kinds that are not kept for ever. */
  constructor(
    private readonly steps: readonly PurgeStep[],
    private readonly clock: Clock,
  ) {}

  /** Whether anything is to be purged at all. */
  get isOn(): boolean {
    return this.steps.length > 0;
  }

  /** What this process has deleted since its start. */
  get totals(): PurgeCounts {
    return this.sum;
  }

  /** Walks on through the tables for at most a second, from the beginning again after their end. */
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
