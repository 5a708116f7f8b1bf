import { type LockedRow } from '../settling/locked-timeout';
import { type DueTimeout } from '../timeout';
import { type SettledBatch } from '../settling/settled-batch';
import { type WorkItem } from './work-item';

interface SortedItems {
  /** Timeouts whose providers are asked now, with the items that wait for it. */
  readonly asked: readonly { readonly due: DueTimeout; readonly items: readonly WorkItem[] }[];
  /** Items whose rows were not due yet or locked; they are held and tried again soon. */
  readonly near: readonly { readonly item: WorkItem; readonly row: LockedRow }[];
  readonly finished: readonly WorkItem[];
}

/** Pure: what a committed batch means for the items that brought it about. */
export function sortItems(items: readonly WorkItem[], batch: SettledBatch, longestHoldMs: number): SortedItems {
  const asked = batch.settled.flatMap(({ outcome, due }) => (outcome.type === 'look-up' ? [due] : []));
  const waiting = new Map(asked.map(({ key }) => [key, [] as WorkItem[]]));
  const early = batch.early.filter((row) => row.remaining_ms <= longestHoldMs);
  const nearRows = new Map(early.map((row) => [row.key, row]));
  const near: { item: WorkItem; row: LockedRow }[] = [];
  const finished: WorkItem[] = [];
  for (const item of items) {
    const { key, generation } = item.wakeUp;
    const row = nearRows.get(key);
    const waiters = waiting.get(key);
    if (waiters) waiters.push(item);
    else if (row && generation !== null) near.push({ item, row });
    else finished.push(item);
  }
  return { asked: asked.map((due) => ({ due, items: waiting.get(due.key) ?? [] })), near, finished };
}
