/** The kinds of data that can be purged. */
export type PurgedKind = 'orders' | 'idempotencyKeys' | 'settledMoney';

/** One page of a walk through a table in key order. */
export interface PurgedPage {
  /** Number of deleted rows. An order with all of its rows counts as one. */
  readonly purged: number;
  /** Where the next page begins; absent at the end of the table. */
  readonly next?: readonly string[];
}

/**
 * Purges one kind, page by page, in primary key order. An index by age would cost every insert of an order 2 to 5 %, or
 * every close its in-place update, even where nothing is ever purged.
 */
export interface PurgeStep {
  readonly kind: PurgedKind;
  /** A key before the first row. */
  readonly beginning: readonly string[];
  /** Reads the rows after this key and deletes those that are due, in one short transaction. */
  purgePage(after: readonly string[]): Promise<PurgedPage>;
  /** Counts the rows of the same page that are old enough, without deleting them. Open items may keep some of them. */
  countPage(after: readonly string[]): Promise<PurgedPage>;
}

/** The most rows that one page reads, and that one transaction deletes. */
export const PAGE_SIZE = 500;
