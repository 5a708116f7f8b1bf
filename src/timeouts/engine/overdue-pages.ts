import { type EntityManager } from 'typeorm';
import { type Clock } from '../../clock';
import { type ScanRange, ScanWindow } from '../../database';
import {
  type SettledBatch,
  type BatchSelection,
  type LockedRows,
  type LockedRow,
  type TimeoutCause,
  type WorkItem,
} from '../model/timeout';
import { type DatabaseClock } from './received-wake-ups';
import { type ExternalLookups } from './external-lookups';
import { type SettlementQueries, type TimeoutSettler } from './timeout-settler';

interface PagesDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly settler: Pick<TimeoutSettler, 'settle' | 'findsAny'>;
  readonly lookups: Pick<ExternalLookups, 'lookUp'>;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly clock: Clock;
  readonly pageSize: number;
  /** Hears of the rows of a page as soon as they are locked. */
  readonly overdue: { found(rows: readonly SeenRow[]): void };
  isPaused(): boolean;
  /** Settles the rows of a page one by one, if they cannot be settled together. */
  readonly batches: { run(items: readonly WorkItem[]): Promise<void> };
}

export interface SeenRow {
  readonly key: string;
  readonly generation: string;
  readonly leased: boolean;
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
    await this.settleSelection(selection, current, cause, current.from.key === '');
    const { rows, costMs } = selection;
    const end = rows.length === this.deps.pageSize ? rows.at(-1) : undefined;
    const last = end && { at: end.cursor, key: end.key };
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

  /** @param asksFirst mostly nothing is overdue: then a range costs one statement, and no transaction */
  private async settleSelection(
    selection: OverdueSelection,
    range: ScanRange,
    cause: TimeoutCause,
    asksFirst = false,
  ): Promise<void> {
    try {
      if (asksFirst && !(await selection.isAnyThere(this.deps.settler))) return;
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

/** A locked row of a page, with its place in the index. */
type OverdueRow = LockedRow & { readonly cursor: string; readonly leased: boolean };

/** A page of rows that are overdue by at least `marginMs`, longest overdue first. */
class OverdueSelection implements BatchSelection {
  /** The page; empty until it is locked. */
  rows: readonly OverdueRow[] = [];
  /** How long it took to read it, milliseconds. */
  costMs = 0;

  constructor(
    private readonly page: { readonly range: ScanRange; readonly marginMs: number; readonly cause: TimeoutCause },
    private readonly deps: Pick<PagesDependencies, 'kind' | 'queries' | 'clock' | 'pageSize' | 'overdue'>,
  ) {}

  causeOf(): TimeoutCause {
    return this.page.cause;
  }

  isAnyThere(settler: Pick<TimeoutSettler, 'findsAny'>): Promise<boolean> {
    return this.timed(settler.findsAny(this.deps.queries.anyOverdue, this.values));
  }

  async lock(tx: EntityManager): Promise<LockedRows> {
    const { queries, pageSize, overdue } = this.deps;
    this.rows = await this.timed(tx.query<OverdueRow[]>(queries.lockOverdue, [...this.values, pageSize]));
    overdue.found(this.rows);
    return { due: this.rows };
  }

  private get values(): unknown[] {
    const { range, marginMs } = this.page;
    return [this.deps.kind, marginMs, range.from.at, range.from.key, range.until];
  }

  private timed<T>(reading: Promise<T>): Promise<T> {
    const { clock } = this.deps;
    const beganAt = clock.monotonic();
    return reading.finally(() => (this.costMs = clock.monotonic() - beganAt));
  }
}

/** A locked page of overdue rows, as the sweep asks for it. */
export interface SweptPage {
  readonly rows: number;
  /** What to read next; undefined: this was the last page. */
  readonly next: ScanRange | undefined;
}

/** A row that was found in the table. It has no delivery to acknowledge, so `finish` does nothing. */
function overdueItem(row: LockedRow, cause: TimeoutCause): WorkItem {
  const { key, generation } = row;
  return { wakeUp: { key, generation, dueAtMs: row.due_at.getTime(), cause }, finish: () => undefined };
}
