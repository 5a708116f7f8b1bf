import { type TimeoutScheduler } from 'nestjs-order-timeout/timeouts';

/** An order whose deadline waits in another tool. */
export interface PendingOrder {
  readonly orderId: string;
  readonly dueAt: Date;
}

/** Schedules the deadlines page by page, and returns how many there were. A page is stored when the next one is read. */
export async function importPending(
  scheduler: TimeoutScheduler,
  kind: string,
  pages: AsyncIterable<readonly PendingOrder[]>,
): Promise<number> {
  let count = 0;
  for await (const page of pages) {
    await scheduler.schedule(page.map(({ orderId: key, dueAt }) => ({ kind, key, dueAt })));
    count += page.length;
  }
  return count;
}
