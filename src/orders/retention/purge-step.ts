/** What can be purged. */
export type PurgedKind = 'orders' | 'idempotencyKeys' | 'settledMoney';

/** One page of a walk through a table in the order of its key. */
export interface PurgedPage {
  /** Rows deleted; of an order with all that belongs to it, one. */
  readonly purged: number;
  /** Where the next page begins; absent at the end of the table. */
  readonly next?: readonly string[];
}

/**
 * Purges one kind, page by page. The walk goes by the primary key, which is there anyway: an index by age would cost every
 * order that is placed 2 to 5 % of its insert, or every close its in-place update, also where nothing is ever purged.
 */
export interface PurgeStep {
  readonly kind: PurgedKind;
  /** Before the first row. */
  readonly beginning: readonly string[];
  /** Looks at the rows after this key and deletes those that are due, in one short transaction. */
  purgePage(after: readonly string[]): Promise<PurgedPage>;
}

/** Rows looked at in one page, and deleted in one transaction at most. */
export const PAGE_SIZE = 500;
