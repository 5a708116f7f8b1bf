/** A timer that can be canceled. Canceling a fired timer does nothing. */
export interface Timer {
  cancel(): void;
}

/** The time that the simulator runs on. The `Clock` of nestjs-order-timeout is one too, so a test can share its own. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Runs `task` once after `ms` milliseconds. */
  after(ms: number, task: () => void): Timer;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
