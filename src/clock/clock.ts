/** A timer that can be called off. Cancelling a fired timer does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Time for timers and measurements. What is due is decided by PostgreSQL's `now()`, never by this clock
 * (see DatabaseClock), so a wrong or jumping machine clock can only change when we look.
 */
export interface Clock {
  /** Milliseconds, with fractions, since an arbitrary start; never jumps when the wall clock is set. */
  monotonic(): number;
  /** Wall clock, epoch milliseconds: for logs and message timestamps only. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds; delays above 24.8 days are not needed and are cut to that. */
  after(ms: number, task: () => void): Timer;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Injection token of the Clock. */
export const CLOCK = Symbol('order-timeout:clock');
