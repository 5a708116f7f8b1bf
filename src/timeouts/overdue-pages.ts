import { type EntityManager } from 'typeorm';
import { type LockedRow } from './locked-timeout';
import { type SettlementQueries } from './settlement-queries';
import { type SweepCursor, type SweptPage } from './swept-page';
import { type TimeoutCause } from './timeout';
import { type Selection, type SettledBatch, type TimeoutSettler } from './timeout-settler';
import { overdueItem, type WorkItem } from './work-item';

type CursorRow = LockedRow & { cursor: string; leased: boolean };

interface PagesPlan {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly settler: TimeoutSettler;
  readonly pageSize: number;
  committed(batch: SettledBatch): void;
  /** Handles the rows of a page that could not be handled together. */
  recover(items: readonly WorkItem[]): Promise<void>;
}

/** Reads what is overdue from the table, longest first, and handles it page by page. */
export class OverduePages {
  constructor(private readonly plan: PagesPlan) {}

  /** Handles one page of rows overdue by at least `marginMs`. @throws when the database cannot be asked. */
  async handle(cursor: SweepCursor, marginMs: number, cause: TimeoutCause): Promise<SweptPage> {
    const { kind, queries, settler, pageSize } = this.plan;
    const args = [kind, marginMs, cursor.nextAttemptAt, cursor.key, pageSize];
    let rows: CursorRow[] = [];
    const select = async (tx: EntityManager): Promise<Selection> => {
      rows = await tx.query<CursorRow[]>(queries.lockOverdue, args);
      return { due: rows };
    };
    try {
      this.plan.committed(await settler.settle(select, () => cause));
    } catch (error) {
      if (rows.length === 0) throw error;
      await this.plan.recover(rows.map((row) => overdueItem(row, cause)));
    }
    const last = rows.at(-1);
    return {
      rows: rows.length,
      missed: rows.filter(({ leased }) => !leased).length,
      cursor: last ? { nextAttemptAt: last.cursor, key: last.key } : cursor,
    };
  }
}
