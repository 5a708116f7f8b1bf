import { type Clock, type Timer } from '../../../src/clock';

/** A Clock that stands still until told to move. Wall clock and timers can be moved apart. */
export class ManualClock implements Clock {
  wallOffsetMs = Date.UTC(2026, 0, 1);
  private readonly timers = new Set<{ readonly at: number; readonly task: () => void }>();
  private elapsedMs = 0;

  get pendingTimers(): number {
    return this.timers.size;
  }

  monotonic(): number {
    return this.elapsedMs;
  }

  now(): number {
    return this.wallOffsetMs + this.elapsedMs;
  }

  after(ms: number, task: () => void): Timer {
    const timer = { at: this.elapsedMs + ms, task };
    this.timers.add(timer);
    return { cancel: () => this.timers.delete(timer) };
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
      signal?.addEventListener('abort', finish);
    });
  }

  /** Runs what is due on the way, in order, and lets promises settle after each step. */
  async advance(ms: number): Promise<void> {
    const end = this.elapsedMs + ms;
    await settle();
    for (;;) {
      const [next] = [...this.timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.timers.delete(next);
      this.elapsedMs = Math.max(this.elapsedMs, next.at);
      next.task();
      await settle();
    }
    this.elapsedMs = end;
  }
}

/** Enough turns for every promise chain in these tests. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
