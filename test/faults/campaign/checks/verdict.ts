/** The columns of the table: each must be zero. */
export const COLUMNS = [
  'early',
  'late',
  'unclosed',
  'closed-though-paid',
  'paid-unpaid',
  'double-effects',
  'stock-drift',
  'lost-events',
  'late-events',
  'stuck-events',
  'slow-claims',
  'wrong-acks',
  'parked',
  'refused',
  'crashes',
] as const;

export type Column = (typeof COLUMNS)[number];

/** One broken promise. */
export interface Breach {
  readonly column: Column;
  readonly says: string;
}

/** Breaches that are kept with their words; of the others only the number. */
const KEPT = 15;

/** Counts what was broken. */
export class Verdict {
  private readonly counts = new Map<Column, number>();
  readonly kept: Breach[] = [];

  add(column: Column, says: string): void {
    const count = this.count(column) + 1;
    this.counts.set(column, count);
    if (count <= KEPT) this.kept.push({ column, says });
  }

  count(column: Column): number {
    return this.counts.get(column) ?? 0;
  }

  get total(): number {
    return COLUMNS.reduce((sum, column) => sum + this.count(column), 0);
  }
}
