import { Logger } from '@nestjs/common';
import { type DueBuffer } from '../../delay';
import { type TimeoutObserver } from '../timeout-observer';
import { type WorkItem } from './work-item';
import { type BatchWork } from '../settling/batch-work';
import { type ExternalLookups } from '../lookups/external-lookups';
import { failureOf } from '../settling/failure-of';
import { BUSY_MS, type LockedRow } from '../settling/locked-timeout';
import { type TimeoutSettler } from '../settling/timeout-settler';
import { type SettledBatch } from '../settling/settled-batch';
import { sortItems } from './sort-items';
import { WakeUpSelection, type WakeUpSelectionDependencies } from './wake-up-selection';

interface SettlementDependencies extends WakeUpSelectionDependencies {
  readonly settler: TimeoutSettler;
  readonly lookups: ExternalLookups;
  /** Where wake-ups wait that came too early. */
  readonly buffer: DueBuffer<WorkItem>;
  readonly observer: Pick<TimeoutObserver, 'unavailable'>;
  /** Aborted when no work may begin. */
  readonly closing: AbortSignal;
}

/** Settles the timeouts that wake-ups name. */
export class WakeUpSettlement implements BatchWork<WorkItem> {
  private readonly logger: Logger;

  constructor(private readonly deps: SettlementDependencies) {
    this.logger = new Logger(`Timeouts:${deps.kind}`);
  }

  async settleBatch(items: readonly WorkItem[]): Promise<void> {
    this.committed(await this.deps.settler.settle(new WakeUpSelection(items, this.deps)), items);
  }

  async recordFailure(item: WorkItem, error: unknown): Promise<void> {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    this.logger.error(`handling "${item.wakeUp.key}" failed: ${message}`, stack);
    await this.postpone(item, error);
  }

  async postpone(item: WorkItem, error: unknown): Promise<void> {
    const { settler, databaseClock } = this.deps;
    await settler.fail(item.wakeUp, item.wakeUp.cause, failureOf(error, databaseClock.nowMs()));
    item.finish('finished');
  }

  onUnavailable(items: readonly WorkItem[], error: unknown): void {
    this.deps.observer.unavailable(this.deps.kind, error);
    items.forEach((item) => item.finish('unwritten'));
  }

  /** The batch is durable: tells those who brought the wake-ups, and starts the look-ups that the handler asked for. */
  private committed(batch: SettledBatch, items: readonly WorkItem[]): void {
    const { asked, near, finished } = sortItems(items, batch, this.deps.longestHoldMs);
    near.forEach(({ item, row }) => this.bufferAgain(item, row));
    finished.forEach((item) => item.finish('finished'));
    for (const { due, items: waiters } of asked) {
      void this.deps.lookups.lookUp(due, batch.lease, (result) => waiters.forEach((item) => item.finish(result)));
    }
  }

  private bufferAgain(item: WorkItem, row: LockedRow): void {
    const { buffer, closing, databaseClock } = this.deps;
    if (closing.aborted) return item.finish('unwritten');
    const waitMs = row.remaining_ms > 0 ? row.remaining_ms : BUSY_MS;
    buffer.add(item, databaseClock.nowMs() + waitMs);
  }
}
