import { type EntityManager } from 'typeorm';
import { type Clock } from '../../clock';
import { type ScanRange } from '../../database';
import { type OverdueWakeUps } from './overdue-wake-ups';
import { type TimeoutCause } from '../timeout';
import { type BatchSelection, type LockedRows } from '../settling/batch-selection';
import { type LockedRow } from '../settling/locked-timeout';
import { type SettlementQueries } from '../settling/settlement-queries';

/** A locked row of a page, with its place in the index. */
export type OverdueRow = LockedRow & { readonly cursor: string; readonly leased: boolean };

interface OverdueSelectionDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly clock: Clock;
  readonly pageSize: number;
  /** Hears of the rows of a page as soon as they are locked. */
  readonly overdue: Pick<OverdueWakeUps, 'found'>;
}

/** A page of rows that are overdue by at least `marginMs`, longest overdue first. */
export class OverdueSelection implements BatchSelection {
  /** The page; empty until it is locked. */
  rows: readonly OverdueRow[] = [];
  /** How long it took to read it, milliseconds. */
  costMs = 0;

  constructor(
    private readonly page: { readonly range: ScanRange; readonly marginMs: number; readonly cause: TimeoutCause },
    private readonly deps: OverdueSelectionDependencies,
  ) {}

  causeOf(): TimeoutCause {
    return this.page.cause;
  }

  async lock(tx: EntityManager): Promise<LockedRows> {
    const { kind, queries, clock, pageSize, overdue } = this.deps;
    const { range, marginMs } = this.page;
    const beganAt = clock.monotonic();
    this.rows = await tx
      .query<OverdueRow[]>(queries.lockOverdue, [kind, marginMs, range.from.at, range.from.key, range.until, pageSize])
      .finally(() => (this.costMs = clock.monotonic() - beganAt));
    overdue.found(this.rows);
    return { due: this.rows };
  }
}
