interface Entry<T> {
  readonly dueAtMs: number;
  /** Order of arrival. Breaks ties, which makes the heap stable. */
  readonly sequence: number;
  readonly item: T;
}

/**
 * A binary min-heap by due time. Items with equal times leave in the order of their arrival. Both operations are O(log
 * n).
 */
export class DueHeap<T> {
  private readonly entries: Entry<T>[] = [];
  private sequence = 0;

  get size(): number {
    return this.entries.length;
  }

  /** Due time of the earliest item. */
  get earliestMs(): number | undefined {
    return this.entries[0]?.dueAtMs;
  }

  push(item: T, dueAtMs: number): void {
    const entry = { dueAtMs, sequence: this.sequence++, item };
    let index = this.entries.length;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.entries[above];
      if (!parent || isBefore(parent, entry)) break;
      this.entries[index] = parent;
      index = above;
    }
    this.entries[index] = entry;
  }

  /** Removes and returns the items that are due at the given time, earliest first. */
  takeUntil(nowMs: number): T[] {
    const items: T[] = [];
    for (let top = this.entries[0]; top && top.dueAtMs <= nowMs; top = this.entries[0]) {
      items.push(top.item);
      this.removeTop();
    }
    return items;
  }

  private removeTop(): void {
    const last = this.entries.pop();
    if (!last || this.entries.length === 0) return;
    let index = 0;
    for (let child = this.earlierChild(index); child; child = this.earlierChild(index)) {
      if (isBefore(last, child.entry)) break;
      this.entries[index] = child.entry;
      index = child.index;
    }
    this.entries[index] = last;
  }

  private earlierChild(index: number): { entry: Entry<T>; index: number } | undefined {
    const leftIndex = 2 * index + 1;
    const left = this.entries[leftIndex];
    if (!left) return undefined;
    const right = this.entries[leftIndex + 1];
    return right && isBefore(right, left) ? { entry: right, index: leftIndex + 1 } : { entry: left, index: leftIndex };
  }
}

function isBefore<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.dueAtMs < b.dueAtMs || (a.dueAtMs === b.dueAtMs && a.sequence < b.sequence);
}
