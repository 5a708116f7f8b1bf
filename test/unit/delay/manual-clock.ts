import { type Clock, type Timer } from '../../../src/clock';

/** A Clock that moves only when a test advances it. Counts the timers that were set. */
export class ManualClock implements Clock {
  timersSet = 0;
  private nowMs = 1_000_000;
  private timers: { atMs: number; task: () => void }[] = [];

  /** @param fireEarlyMs how much too early timers fire, like real ones. */
  constructor(private readonly fireEarlyMs = 0) {}

  get pendingTimers(): number {
    return this.timers.length;
  }

  monotonic(): number {
    return this.nowMs;
  }

  now(): number {
    return this.nowMs;
  }

  after(ms: number, task: () => void): Timer {
    this.timersSet++;
    const timer = { atMs: this.nowMs + Math.max(ms - this.fireEarlyMs, 0.001), task };
    this.timers.push(timer);
    return { cancel: () => void (this.timers = this.timers.filter((each) => each !== timer)) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.after(ms, finish);
      function finish(): void {
        timer.cancel();
        signal?.removeEventListener('abort', finish);
        resolve();
      }
      signal?.addEventListener('abort', finish, { once: true });
    });
  }

  /** Advances the time and runs the tasks that become due. */
  advance(ms: number): void {
    const endMs = this.nowMs + ms;
    for (let next = this.nextUntil(endMs); next; next = this.nextUntil(endMs)) {
      const { atMs, task } = next;
      this.timers = this.timers.filter((each) => each !== next);
      this.nowMs = Math.max(this.nowMs, atMs);
      task();
    }
    this.nowMs = endMs;
  }

  /** Sets the wall clock. Timers are not affected. */
  jump(ms: number): void {
    this.nowMs += ms;
    for (const timer of this.timers) timer.atMs += ms;
  }

  private nextUntil(endMs: number): { atMs: number; task: () => void } | undefined {
    return this.timers.filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}
