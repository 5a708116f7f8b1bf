import { type Clock, type Timer } from '../clock';
import { DueHeap } from './due-heap';

/** A correction of the clock during a wait is noticed after this time at the latest. */
const LONGEST_NAP_MS = 1_000;

interface BufferDependencies<T> {
  /** Due times are compared with this: epoch milliseconds by the database's clock. */
  nowMs(): number;
  /** Receives all items that have become due, earliest first. Must not throw. */
  onDue(items: T[]): void;
}

/**
 * Keeps items until they are due, accurate to the millisecond and never early. Uses one timer for any number of items.
 * Nothing in it is durable: an item is an unsettled delivery or a claimed row, which survives the process.
 */
export class DueBuffer<T> {
  private readonly heap = new DueHeap<T>();
  private timer: Timer | undefined;
  private wakesAtMs = Infinity;
  private isReleasing = false;

  constructor(
    private readonly clock: Clock,
    private readonly deps: BufferDependencies<T>,
  ) {}

  get size(): number {
    return this.heap.size;
  }

  /** Releases `item` at `dueAtMs`. Items that are due already are released together, right after the caller's turn. */
  add(item: T, dueAtMs: number): void {
    this.heap.push(item, dueAtMs);
    const nowMs = this.deps.nowMs();
    if (dueAtMs <= nowMs) this.releaseSoon();
    else if (dueAtMs < this.wakesAtMs) this.wakeFor(dueAtMs, nowMs);
  }

  /** Removes and returns all items, due or not, earliest first. Used at shutdown to return them to the broker. */
  drain(): T[] {
    this.disarm();
    return this.heap.takeUntil(Infinity);
  }

  private releaseSoon(): void {
    if (this.isReleasing) return;
    this.isReleasing = true;
    queueMicrotask(() => {
      this.isReleasing = false;
      this.release();
    });
  }

  private wakeFor(dueAtMs: number, nowMs: number): void {
    this.timer?.cancel();
    this.wakesAtMs = dueAtMs;
    // Rounded up, because timers drop fractions. Timers still fire up to 1 ms early, so release() checks the time
    // again.
    const napMs = Math.min(Math.max(Math.ceil(dueAtMs - nowMs), 1), LONGEST_NAP_MS);
    this.timer = this.clock.after(napMs, () => this.release());
  }

  private disarm(): void {
    this.timer?.cancel();
    this.wakesAtMs = Infinity;
  }

  private release(): void {
    const nowMs = this.deps.nowMs();
    const items = this.heap.takeUntil(nowMs);
    const nextMs = this.heap.earliestMs;
    // Set the timer first: even if onDue throws, the remaining items stay on time.
    if (nextMs === undefined) this.disarm();
    else this.wakeFor(nextMs, nowMs);
    if (items.length > 0) this.deps.onDue(items);
  }
}
