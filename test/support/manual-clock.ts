import { type Clock, type Timer } from '../../src/clock';

interface SetTimer {
  atMs: number;
  readonly task: () => void;
}

/** A Clock that moves only when a test says so. Wall clock and timers can be moved apart. */
export class ManualClock implements Clock {
  /** How many timers were ever set. */
  timersSet = 0;
  wallOffsetMs = Date.UTC(2026, 0, 1);
  private elapsedMs = 0;
  private timers: SetTimer[] = [];

  /** @param fireEarlyMs how much too early timers fire, like real ones. */
  constructor(private readonly fireEarlyMs = 0) {}

  get pendingTimers(): number {
    return this.timers.length;
  }

  monotonic(): number {
    return this.elapsedMs;
  }

  now(): number {
    return this.wallOffsetMs + this.elapsedMs;
  }

  after(ms: number, task: () => void): Timer {
    this.timersSet++;
    // One that fires too early fires again and again, so time must go on.
    const inMs = this.fireEarlyMs > 0 ? Math.max(ms - this.fireEarlyMs, 0.001) : ms;
    const timer = { atMs: this.elapsedMs + inMs, task };
    this.timers.push(timer);
    return { cancel: () => this.remove(timer) };
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const timer = this.after(ms, finish);
      function finish(): void {
        timer.cancel();
        signal?.removeEventListener('abort', finish);
        resolve();
      }
      signal?.addEventListener('abort', finish, { once: true });
    });
  }

  /** Advances the time and runs what becomes due on the way, in order. */
  advance(ms: number): void {
    const endMs = this.elapsedMs + ms;
    while (this.runNext(endMs));
    this.elapsedMs = endMs;
  }

  /** The same, and lets promises settle before and after each step. */
  async pass(ms: number): Promise<void> {
    const endMs = this.elapsedMs + ms;
    await settle();
    while (this.runNext(endMs)) await settle();
    this.elapsedMs = endMs;
  }

  /** Lets time go by unnoticed: timers keep their distance. */
  jump(ms: number): void {
    this.elapsedMs += ms;
    for (const timer of this.timers) timer.atMs += ms;
  }

  /** @returns whether something was due by then. */
  private runNext(endMs: number): boolean {
    const [next] = this.timers.filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
    if (!next) return false;
    this.remove(next);
    this.elapsedMs = Math.max(this.elapsedMs, next.atMs);
    next.task();
    return true;
  }

  private remove(timer: SetTimer): void {
    this.timers = this.timers.filter((each) => each !== timer);
  }
}

/** Enough turns for every promise chain in these tests. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
