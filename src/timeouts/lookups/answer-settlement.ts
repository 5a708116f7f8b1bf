import { type Clock } from '../../clock';
import { type TimeoutObserver } from '../timeout-observer';
import { type WakeUpResult } from '../wake-ups/work-item';
import { type Answer, AnswerSelection } from './answer-selection';
import { type BatchWork } from '../settling/batch-work';
import { type DatabaseClock } from '../settling/database-clock';
import { failureOf } from '../settling/failure-of';
import { IsolatedBatches } from '../settling/isolated-batches';
import { BUSY_MS } from '../settling/locked-timeout';
import { GATHER, MicroBatcher } from '../settling/micro-batcher';
import { type SettlementQueries } from '../settling/settlement-queries';
import { type TimeoutSettler } from '../settling/timeout-settler';

/** An answer to settle, or the look-up that failed. */
export interface LeasedAnswer extends Answer {
  /** When the lease ends, by the monotonic clock. */
  readonly endsAtMs: number;
  finish(result: WakeUpResult): void;
}

export interface AnswerDependencies {
  readonly kind: string;
  readonly settler: TimeoutSettler;
  readonly queries: SettlementQueries;
  readonly databaseClock: DatabaseClock;
  readonly observer: Pick<TimeoutObserver, 'unavailable'>;
  readonly batchSize: number;
  readonly concurrency: number;
}

/** Pause after an answer that could not be written. While the lease holds, nobody else may look the timeout up. */
const REWRITE_MS = 500;

/** Settles the timeouts whose look-ups were answered, in micro-batches as the answers come in. */
export class AnswerSettlement implements BatchWork<LeasedAnswer> {
  private readonly batcher: MicroBatcher<LeasedAnswer>;
  private isStopping = false;

  constructor(
    private readonly deps: AnswerDependencies,
    private readonly clock: Clock,
  ) {
    const { settler: database, batchSize: size, concurrency } = deps;
    const batches = new IsolatedBatches({ work: this, database, concurrency }, clock);
    const run = (items: readonly LeasedAnswer[]): Promise<void> => batches.run(items);
    this.batcher = new MicroBatcher(clock, { size, ...GATHER, concurrency, run });
  }

  add(item: LeasedAnswer): void {
    this.batcher.add([item]);
  }

  /** From now on nothing is tried a second time. */
  stop(): void {
    this.isStopping = true;
  }

  async settleBatch(items: readonly LeasedAnswer[]): Promise<void> {
    const { early } = await this.deps.settler.settle(new AnswerSelection(items, this.deps));
    const busy = new Set(early.map(({ key }) => key));
    for (const item of items) {
      if (!busy.has(item.due.key)) item.finish('finished');
      else if (this.isStopping) item.finish('unwritten');
      else this.clock.after(BUSY_MS, () => this.add(item));
    }
  }

  /** Records that a look-up failed, or that its answer could not be settled. Never rejects. */
  async recordFailure(item: Omit<LeasedAnswer, 'answer'>, error: unknown): Promise<void> {
    const { settler, databaseClock, observer, kind } = this.deps;
    const { due, lease, finish } = item;
    // Canceled because this process stops: no attempt is counted, and the timeout is due again when the lease ends.
    while (!this.isStopping) {
      try {
        await settler.fail(due, due.cause, { ...failureOf(error, databaseClock.nowMs()), lease });
        return finish('finished');
      } catch (fault) {
        observer.unavailable(kind, fault);
        if (!this.mayWrite(item)) break;
        await this.clock.sleep(REWRITE_MS);
      }
    }
    finish('unwritten');
  }

  postpone(item: LeasedAnswer, error: unknown): Promise<void> {
    return this.recordFailure(item, error);
  }

  /** Keeps the answers until the database is available again, or their leases end. */
  onUnavailable(items: readonly LeasedAnswer[], error: unknown): void {
    this.deps.observer.unavailable(this.deps.kind, error);
    for (const item of items) {
      if (this.mayWrite(item)) this.clock.after(REWRITE_MS, () => this.add(item));
      else item.finish('unwritten');
    }
  }

  private mayWrite({ endsAtMs }: Pick<LeasedAnswer, 'endsAtMs'>): boolean {
    return !this.isStopping && this.clock.monotonic() + REWRITE_MS < endsAtMs;
  }
}
