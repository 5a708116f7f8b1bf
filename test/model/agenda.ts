import { type Random } from './random';

interface Entry {
  readonly at: number;
  readonly tie: number;
  readonly run: () => void;
}

/** The virtual clock and everything that is going to happen, earliest first; a heap. What is due together is shuffled. */
export class Agenda {
  private readonly heap: Entry[] = [];
  private current: number;

  constructor(
    startMs: number,
    private readonly random: Random,
  ) {
    this.current = startMs;
  }

  /** Milliseconds since 1970. */
  get nowMs(): number {
    return this.current;
  }

  get now(): Date {
    return new Date(this.current);
  }

  after(ms: number, run: () => void): void {
    this.at(this.current + ms, run);
  }

  /** A moment that has passed means now. */
  at(atMs: number, run: () => void): void {
    const entry = { at: Math.max(Math.round(atMs), this.current), tie: this.random.next(), run };
    let index = this.heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.isBefore(index, parent)) break;
      this.swap(index, parent);
      index = parent;
    }
  }

  /** Does the next thing; false: there is none. */
  step(): boolean {
    const [first] = this.heap;
    const last = this.heap.pop();
    if (!first || !last) return false;
    if (this.heap.length > 0) {
      this.heap[0] = last;
      this.sink();
    }
    this.current = first.at;
    first.run();
    return true;
  }

  private sink(): void {
    for (let index = 0; ;) {
      const left = 2 * index + 1;
      const child = left + 1 < this.heap.length && this.isBefore(left + 1, left) ? left + 1 : left;
      if (child >= this.heap.length || !this.isBefore(child, index)) return;
      this.swap(index, child);
      index = child;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const [x, y] = [this.heap[a], this.heap[b]];
    if (!x || !y) return false;
    return x.at < y.at || (x.at === y.at && x.tie < y.tie);
  }

  private swap(a: number, b: number): void {
    const [x, y] = [this.heap[a], this.heap[b]];
    if (!x || !y) return;
    this.heap[a] = y;
    this.heap[b] = x;
  }
}
