import { type Clock, type Timer } from '../clock';
import { DueHeap } from './due-heap';

/** A clock that is corrected while we wait is noticed after at most this long. */
const LONGEST_NAP_MS = 1_000;

interface HoldDependencies<T> {
  /** What is due is compared with this: epoch milliseconds by the database's clock. */
  nowMs(): number;
  /** Everything that has become due, earliest first. Must not throw. */
  onDue(items: T[]): void;
}

/**
 * Keeps items until they are due, to the millisecond and never early. One timer, whatever the number of items.
 * Holds nothing durable: an item is an unsettled delivery or a claimed row, and is safe when the process dies.
 */
export class DueBuffer<T> {
  private readonly heap = new DueHeap<T>();
  private timer: Timer | undefined;
  private wakesAtMs = Infinity;
  private isReleasing = false;

  constructor(
    private readonly clock: Clock,
    private readonly deps: HoldDependencies<T>,
  ) {}

  get size(): number {
    return this.heap.size;
  }

  /** Releases `item` at `dueAtMs`; what is due already is released right after the caller's turn, in one go. */
  add(item: T, dueAtMs: number): void {
    this.heap.push(item, dueAtMs);
    const nowMs = this.deps.nowMs();
    if (dueAtMs <= nowMs) this.releaseSoon();
    else if (dueAtMs < this.wakesAtMs) this.wakeFor(dueAtMs, nowMs);
  }

  /** Takes everything back, due or not, earliest first: to give it back to the broker at shutdown. */
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
    // Rounded up, as timers drop fractions; they still fire up to 1 ms early, so release() looks again.
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
    // The timer first: whatever the receiver does, the rest stays on time.
    if (nextMs === undefined) this.disarm();
    else this.wakeFor(nextMs, nowMs);
    if (items.length > 0) this.deps.onDue(items);
  }
}
