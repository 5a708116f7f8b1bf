import { type EntityManager } from 'typeorm';
import { type DueTimeout, type TimeoutCause } from '../timeout';
import { type BatchSelection, type LockedRows } from '../settling/batch-selection';
import { type BusyRow, type LockedRow } from '../settling/locked-timeout';
import { type SettlementQueries } from '../settling/settlement-queries';

/** The answer to the look-up of one timeout. */
export interface Answer {
  readonly due: DueTimeout;
  /** Token of the lease that the look-up runs under. */
  readonly lease: string;
  readonly answer: unknown;
}

/** The rows of answered look-ups. A row whose lease was lost is not among them: its new owner decides. */
export class AnswerSelection implements BatchSelection {
  readonly answers: ReadonlyMap<string, unknown>;
  private readonly causes: ReadonlyMap<string, TimeoutCause>;

  constructor(
    private readonly items: readonly Answer[],
    private readonly deps: { readonly kind: string; readonly queries: SettlementQueries },
  ) {
    this.answers = new Map(items.map(({ due, answer }) => [due.key, answer]));
    this.causes = new Map(items.map(({ due }) => [due.key, due.cause]));
  }

  causeOf({ key }: LockedRow): TimeoutCause {
    return this.causes.get(key) ?? 'message';
  }

  async lock(tx: EntityManager): Promise<LockedRows> {
    const rows = await tx.query<BusyRow[]>(this.deps.queries.lockLeased, [
      this.deps.kind,
      this.items.map(({ due }) => due.key),
      this.items.map(({ due }) => due.generation),
      this.items.map(({ lease }) => lease),
    ]);
    return { due: rows.filter((row) => !row.busy), early: rows.filter((row) => row.busy) };
  }
}
