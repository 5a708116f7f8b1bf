import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, type Timer } from './clock';

/** setTimeout takes a signed 32-bit number; above it Node fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's clock. */
export class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  after(ms: number, task: () => void): Timer {
    const timer = setTimeout(task, Math.min(Math.max(ms, 0), MAX_TIMER_MS));
    return { cancel: () => clearTimeout(timer) };
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // Many waits share one stop signal. Node reports more than ten listeners as a leak.
    if (signal) setMaxListeners(0, signal);
    // It rejects if and only if the signal aborts.
    await wait(Math.min(ms, MAX_TIMER_MS), undefined, signal && { signal }).catch(() => undefined);
  }
}
