import { type PublishOutcome, type PublishWatch } from '../rabbit';
import { type LateRow, type LateRows } from './late-rows';
import { type ClaimedRow } from './outbox-claims';

/** A row under way, without its body: that is with the publisher. */
interface SentRow extends LateRow {
  readonly routingKey: string;
}

/** The rows of one call to the publisher, by their place in it, and those that can never be sent. */
export class SentRows implements PublishWatch {
  /** With the reason. */
  readonly refusedRows = new Map<SentRow, string>();
  private readonly rows: SentRow[] = [];

  constructor(private readonly late: LateRows) {}

  add(row: ClaimedRow): void {
    this.rows.push(sentRow(row));
  }

  refuse(row: ClaimedRow, reason: string): void {
    this.refusedRows.set(sentRow(row), reason);
  }

  where(outcomes: readonly PublishOutcome[], ...wanted: PublishOutcome[]): SentRow[] {
    return this.rows.filter((_, index) => wanted.some((one) => one === outcomes[index]));
  }

  refused(index: number, reason: string): void {
    const row = this.rows[index];
    if (row) this.refusedRows.set(row, reason);
  }

  answered(index: number, outcome: PublishOutcome): void {
    const row = this.rows[index];
    if (row) this.late.answered(row, outcome);
  }

  timedOut(index: number): void {
    const row = this.rows[index];
    if (row) this.late.timedOut(row);
  }
}

function sentRow({ id, lease, routing_key: routingKey }: ClaimedRow): SentRow {
  return { id, lease, routingKey };
}
