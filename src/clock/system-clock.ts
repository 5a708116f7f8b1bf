import { setMaxListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import { type Clock, type Timer } from './clock';

/** setTimeout takes a signed 32-bit number. Above it, Node fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The Clock of a running process. */
export class SystemClock implements Clock {
  monotonic(): number {
    return performance.now();
  }

  now(): number {
    return Date.now();
  }

  after(ms: number, task: () => void): Timer {
    const timer = setTimeout(task, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
    return { cancel: () => clearTimeout(timer) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    // Many waits share one stop signal. Node reports more than ten listeners as a leak.
    if (signal) setMaxListeners(0, signal);
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
}
