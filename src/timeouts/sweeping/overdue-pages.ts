import { type Clock } from '../../clock';
import { type ScanRange, ScanWindow } from '../../database';
import { type DatabaseClock } from '../settling/database-clock';
import { type ExternalLookups } from '../lookups/external-lookups';
import { OverdueSelection, type OverdueRow } from './overdue-selection';
import { type SettlementQueries } from '../settling/settlement-queries';
import { type TimeoutSettler } from '../settling/timeout-settler';
import { type SettledBatch } from '../settling/settled-batch';
import { type TimeoutCause } from '../timeout';
import { overdueItem, type WorkItem } from '../wake-ups/work-item';
import { type OverdueWakeUps } from './overdue-wake-ups';
import { type SweptPage } from './swept-page';

interface PagesDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly settler: Pick<TimeoutSettler, 'settle'>;
  readonly lookups: Pick<ExternalLookups, 'lookUp'>;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly clock: Clock;
  readonly pageSize: number;
  readonly overdue: Pick<OverdueWakeUps, 'found'>;
  isPaused(): boolean;
  /** Settles the rows of a page one by one, if they cannot be settled together. */
  readonly batches: { run(items: readonly WorkItem[]): Promise<void> };
}

/** Reads what is overdue from the table, longest overdue first, and settles it page by page. */
export class OverduePages {
  private readonly window: ScanWindow;

  constructor(private readonly deps: PagesDependencies) {
    this.window = new ScanWindow(deps.clock);
  }

  /**
   * Settles one page of rows overdue by at least `marginMs`.
   *
   * @param range what the page before has left; undefined: begin.
   * @throws if the database does not answer.
   */
  async settlePage(range: ScanRange | undefined, marginMs: number, cause: TimeoutCause): Promise<SweptPage> {
    if (this.deps.isPaused()) return { rows: 0, next: undefined };
    const nowMs = this.deps.databaseClock.nowMs() - marginMs;
    const current = range ?? this.window.past(nowMs) ?? this.window.recent(nowMs);
    const selection = new OverdueSelection({ range: current, marginMs, cause }, this.deps);
    await this.settleSelection(selection, current, cause);
    const { rows, costMs } = selection;
    const last = rows.length === this.deps.pageSize ? positionOf(rows.at(-1)) : undefined;
    const left = this.window.read(current, { last, costMs });
    const next = left ?? (current.isPast ? (this.window.past(nowMs) ?? this.window.recent(nowMs)) : undefined);
    return { rows: rows.length, next };
  }

  /** Settles one page of what has fallen due since the last such page. @throws if the database does not answer. */
  async settleNewest(cause: TimeoutCause): Promise<void> {
    if (this.deps.isPaused()) return;
    const range = this.window.newest(this.deps.databaseClock.nowMs());
    await this.settleSelection(new OverdueSelection({ range, marginMs: 0, cause }, this.deps), range, cause);
  }

  private async settleSelection(selection: OverdueSelection, range: ScanRange, cause: TimeoutCause): Promise<void> {
    try {
      this.lookUp(await this.deps.settler.settle(selection));
    } catch (error) {
      const { rows, costMs } = selection;
      if (rows.length === 0) {
        this.window.failed(range, costMs);
        throw error;
      }
      await this.deps.batches.run(rows.map((row) => overdueItem(row, cause)));
    }
  }

  private lookUp({ settled, lease }: SettledBatch): void {
    for (const { due, outcome } of settled) {
      if (outcome.type === 'look-up') void this.deps.lookups.lookUp(due, lease, () => undefined);
    }
  }
}

function positionOf(row: OverdueRow | undefined): { at: string; key: string } | undefined {
  return row && { at: row.cursor, key: row.key };
}
