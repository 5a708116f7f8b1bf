import { type EntityManager } from 'typeorm';
import { type Clock } from '../../clock';
import { type ScanRange, ScanWindow } from '../../database';
import { type DatabaseClock } from '../settling/database-clock';
import { type LockedRow } from '../settling/locked-timeout';
import { type OverdueWakeUps } from './overdue-wake-ups';
import { type SettlementQueries } from '../settling/settlement-queries';
import { type SweptPage } from './swept-page';
import { type TimeoutCause } from '../timeout';
import { type Selection, type SettledBatch, type TimeoutSettler } from '../settling/timeout-settler';
import { overdueItem, type WorkItem } from '../wake-ups/work-item';

type CursorRow = LockedRow & { cursor: string; leased: boolean };

interface PagesDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly settler: TimeoutSettler;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly clock: Clock;
  readonly pageSize: number;
  committed(batch: SettledBatch): void;
  /** Hears of the rows of a page as soon as they are locked. */
  readonly overdue: Pick<OverdueWakeUps, 'found'>;
  /** Handles the rows of a page that could not be handled together. */
  recover(items: readonly WorkItem[]): Promise<void>;
}

/** Reads what is overdue from the table, longest first, and handles it page by page. */
export class OverduePages {
  private readonly window: ScanWindow;

  constructor(private readonly deps: PagesDependencies) {
    this.window = new ScanWindow(deps.clock);
  }

  /**
   * Handles one page of rows overdue by at least `marginMs`.
   *
   * @param range what the page before has left; undefined: begin.
   * @throws when the database cannot be asked.
   */
  async handle(range: ScanRange | undefined, marginMs: number, cause: TimeoutCause): Promise<SweptPage> {
    const nowMs = this.deps.databaseClock.nowMs() - marginMs;
    const current = range ?? this.window.past(nowMs) ?? this.window.recent(nowMs);
    const { rows, costMs } = await this.settle(current, marginMs, cause);
    const last = rows.length === this.deps.pageSize ? positionOf(rows.at(-1)) : undefined;
    const left = this.window.read(current, { last, costMs });
    const next = left ?? (current.isPast ? (this.window.past(nowMs) ?? this.window.recent(nowMs)) : undefined);
    return { rows: rows.length, missed: rows.filter(({ leased }) => !leased).length, next };
  }

  private async settle(
    range: ScanRange,
    marginMs: number,
    cause: TimeoutCause,
  ): Promise<{ rows: CursorRow[]; costMs: number }> {
    const { kind, queries, settler, clock, pageSize } = this.deps;
    const args = [kind, marginMs, range.from.at, range.from.key, range.until, pageSize];
    let rows: CursorRow[] = [];
    let costMs = 0;
    const select = async (tx: EntityManager): Promise<Selection> => {
      const beganAt = clock.monotonic();
      rows = await tx
        .query<CursorRow[]>(queries.lockOverdue, args)
        .finally(() => (costMs = clock.monotonic() - beganAt));
      this.deps.overdue.found(rows);
      return { due: rows };
    };
    try {
      this.deps.committed(await settler.settle(select, () => cause));
    } catch (error) {
      if (rows.length === 0) {
        this.window.failed(range, costMs);
        throw error;
      }
      await this.deps.recover(rows.map((row) => overdueItem(row, cause)));
    }
    return { rows, costMs };
  }
}

function positionOf(row: CursorRow | undefined): { at: string; key: string } | undefined {
  return row && { at: row.cursor, key: row.key };
}
