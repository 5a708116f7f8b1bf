/** How items of one sort are settled, and what becomes of those that cannot be. */
export interface BatchWork<T> {
  /** Settles the items in one transaction. @throws if nothing was written. */
  settleBatch(items: readonly T[]): Promise<void>;
  /** Records a failure of this item, which failed alone. */
  recordFailure(item: T, error: unknown): Promise<void>;
  /** Records that the item needs a row that another session holds. It is tried again later, and no attempt is counted. */
  postpone(item: T, error: unknown): Promise<void>;
  /** Nothing was written, because the database is unavailable. */
  onUnavailable(items: readonly T[], error: unknown): void;
}
