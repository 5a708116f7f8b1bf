/** How the poller waits: replaced in tests. */
export interface Timers {
  set(run: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

export interface PollerOptions {
  /** Gets what is shown; rejects if it cannot. */
  readonly load: (signal: AbortSignal) => Promise<void>;
  readonly intervalMs: number;
  readonly timers: Timers;
  readonly onError: (error: unknown, retryInMs: number) => void;
}

const LONGEST_MS = 60_000;

/** The wait before the next try: doubled with every failure, up to a minute. */
export function backOff(intervalMs: number, failures: number): number {
  return Math.min(LONGEST_MS, Math.max(intervalMs, 1_000) * 2 ** Math.min(failures, 16));
}

/** Loads again and again, one load at a time. It rests while nobody looks, and backs off while loading fails. */
export class Poller {
  private timer: unknown;
  private running: AbortController | undefined;
  private failures = 0;
  private isStopped = false;
  private isResting = false;

  constructor(private readonly options: PollerOptions) {}

  /** Loads now, even if a load is on its way: that one may show what was before an action. */
  async refresh(): Promise<void> {
    if (this.isStopped) return;
    this.options.timers.clear(this.timer);
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    try {
      await this.options.load(running.signal);
      if (!running.signal.aborted) this.succeed();
    } catch (error) {
      if (!running.signal.aborted) this.fail(error);
    }
  }

  /** The page is hidden: loads no more until `wake`. */
  rest(): void {
    this.isResting = true;
    this.options.timers.clear(this.timer);
  }

  /** The page is visible again. */
  wake(): void {
    if (!this.isResting) return;
    this.isResting = false;
    void this.refresh();
  }

  /** For good. */
  stop(): void {
    this.isStopped = true;
    this.options.timers.clear(this.timer);
    this.running?.abort();
  }

  private succeed(): void {
    this.failures = 0;
    this.schedule(this.options.intervalMs);
  }

  private fail(error: unknown): void {
    const wait = backOff(this.options.intervalMs, ++this.failures);
    this.options.onError(error, wait);
    this.schedule(wait);
  }

  private schedule(ms: number): void {
    if (this.isResting || this.isStopped) return;
    this.timer = this.options.timers.set(() => void this.refresh(), ms);
  }
}
