/** A locked page of overdue rows, as the sweep asks for it. */
export interface SweptPage {
  readonly rows: number;
  /** Rows among them that no lease explains: a wake-up should have brought them long before. */
  readonly missed: number;
  /** Where the next page begins. */
  readonly cursor: SweepCursor;
}

export interface SweepCursor {
  readonly nextAttemptAt: string;
  readonly key: string;
}

/** Before every row. */
export const BEGINNING: SweepCursor = { nextAttemptAt: '-infinity', key: '' };
