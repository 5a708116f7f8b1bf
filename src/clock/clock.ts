import { setMaxListeners } from 'node:events';
import { performance } from 'node:perf_hooks';

/** A timer that can be canceled. Canceling a timer that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Time for timers and measurements. PostgreSQL's `now()` decides what is due, never this clock (see DatabaseClock), so
 * a wrong or jumping machine clock changes only when the service looks.
 */
export interface Clock {
  /** Milliseconds, with fractions, since an arbitrary start. Does not jump when the wall clock is set. */
  monotonic(): number;
  /** Wall clock in epoch milliseconds. Use it for logs and message timestamps only. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds. Longer delays than 24.8 days are cut to that; none are needed. */
  after(ms: number, task: () => void): Timer;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Injection token of the Clock. */
export const CLOCK = Symbol('order-timeout:clock');

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

/**
 * Resolves to the result of `work`, or to `otherwise` after `ms` milliseconds or when `signal` aborts. Leaves no timer
 * behind.
 */
export async function withTimeout<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  otherwise: T,
  signal?: AbortSignal,
): Promise<T> {
  const inTime = new AbortController();
  const abort = (): void => inTime.abort();
  // Many waits share one stop signal. Node reports more than ten listeners as a leak.
  if (signal) setMaxListeners(Infinity, signal);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, clock.sleep(ms, inTime.signal).then(() => otherwise)]);
  } finally {
    inTime.abort();
    signal?.removeEventListener('abort', abort);
  }
}

/**
 * Resolves to the result of `work`. Work that takes longer continues, and its result is ignored.
 *
 * @throws the error that `late` creates, after `ms` milliseconds or when `signal` aborts. An earlier error of `work` is
 *   thrown as it is.
 */
export async function inTime<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  const answer = await withTimeout(
    clock,
    ms,
    work.then((value) => ({ value })),
    undefined,
    signal,
  );
  if (!answer) throw late();
  return answer.value;
}

/** One point in time that several waits share, so that together they do not exceed its limit. */
export class Deadline {
  private readonly endsAt: number;

  constructor(
    private readonly clock: Clock,
    ms: number,
  ) {
    this.endsAt = clock.monotonic() + ms;
  }

  /** Remaining milliseconds, at least `atLeastMs`. */
  left(atLeastMs = 0): number {
    return Math.max(this.endsAt - this.clock.monotonic(), atLeastMs);
  }

  /** Resolves to the result of `work`, or to `otherwise` if the deadline comes first. */
  within<T>(work: Promise<T>, otherwise: T): Promise<T> {
    return withTimeout(this.clock, this.left(), work, otherwise);
  }
}
