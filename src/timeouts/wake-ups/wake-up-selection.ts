import { type EntityManager } from 'typeorm';
import { type TimeoutCause } from '../timeout';
import { wakeLater } from './wake-later';
import { identitiesOf } from './wake-up';
import { type WorkItem } from './work-item';
import { type BatchSelection, type LockedRows } from '../settling/batch-selection';
import { type DatabaseClock } from '../settling/database-clock';
import { type BusyRow, type LockedRow } from '../settling/locked-timeout';
import { type OutcomeRecorder } from '../settling/outcome-recorder';
import { type SettlementQueries } from '../settling/settlement-queries';
import { splitDue } from './split-due';

export interface WakeUpSelectionDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly recorder: OutcomeRecorder;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly lookups: { isLookingUp(key: string): boolean };
  /** What is early by less is kept in the process. What is early by more goes through the outbox again. */
  readonly longestHoldMs: number;
  /** Then the wake-ups are over, and the sweep finds the timeouts later. */
  isPaused(): boolean;
}

/** The rows that these wake-ups name. */
export class WakeUpSelection implements BatchSelection {
  private readonly causes: ReadonlyMap<string, TimeoutCause>;

  constructor(
    private readonly items: readonly WorkItem[],
    private readonly deps: WakeUpSelectionDependencies,
  ) {
    this.causes = new Map(items.map(({ wakeUp }) => [wakeUp.key, wakeUp.cause]));
  }

  causeOf({ key }: LockedRow): TimeoutCause {
    return this.causes.get(key) ?? 'message';
  }

  async lock(tx: EntityManager): Promise<LockedRows> {
    const { kind, queries, recorder, databaseClock, lookups, longestHoldMs } = this.deps;
    const { keys, generations } = identitiesOf(this.items.map(({ wakeUp }) => wakeUp));
    const rows = await tx.query<BusyRow[]>(queries.lockByKeys, [kind, keys, generations]);
    const { due, early } = splitDue(rows, this.items, (key) => lookups.isLookingUp(key));
    const far = early.filter((row) => row.remaining_ms > longestHoldMs);
    await recorder.wakeLater(tx, wakeLater(far, this.items, databaseClock.nowMs()));
    return { due: this.deps.isPaused() ? [] : due, early };
  }
}
