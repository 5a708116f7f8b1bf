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
