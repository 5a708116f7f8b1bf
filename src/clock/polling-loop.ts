import { Logger } from '@nestjs/common';
import { type Clock } from './clock';
import { inTime } from './in-time';
import { StuckLoopError } from './stuck-loop-error';

interface LoopDependencies {
  readonly name: string;
  /** One bounded piece of work. Returns true when there is more to do right now. */
  runOnce(signal: AbortSignal): Promise<boolean>;
  /** Sleep after an idle run, milliseconds; asked for anew each time. */
  intervalMs(): number;
  /** How long a run waits for more work to come in, unless the one before left some. @default 0 */
  readonly gatherMs?: number;
  /**
   * A run that takes longer is aborted and left behind, and the next one begins, whether or not the first ends. Only for work
   * that may run twice at the same time. @default no limit
   */
  readonly limitMs?: number;
}

/** After a failed run, so that a database that is away is not asked in a tight loop. */
const ERROR_PAUSE_MS = 1_000;

/** Runs `runOnce` again and again: at once while there is more, else after the interval or when woken. Knows nothing else. */
export class PollingLoop {
  private readonly logger: Logger;
  private readonly stopping = new AbortController();
  private sleeping = new AbortController();
  private running: Promise<void> | undefined;
  private isWoken = false;
  private hasMore = false;
  private lastError = '';

  constructor(
    private readonly clock: Clock,
    private readonly deps: LoopDependencies,
  ) {
    this.logger = new Logger(`Loop:${deps.name}`);
  }

  start(): void {
    this.running ??= this.run();
  }

  /** There may be work: do not sleep on. */
  wake(): void {
    this.isWoken = true;
    this.sleeping.abort();
  }

  /** Resolves when the run in progress has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.sleeping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) await this.runGuarded();
  }

  private async runGuarded(): Promise<void> {
    const { gatherMs } = this.deps;
    if (gatherMs !== undefined && !this.hasMore) await this.clock.sleep(gatherMs, this.stopping.signal);
    if (this.stopping.signal.aborted) return;
    // Only now: what woke it meanwhile is found by this run.
    this.isWoken = false;
    try {
      this.hasMore = await this.runLimited();
      this.lastError = '';
      if (!this.hasMore) await this.sleep(this.deps.intervalMs());
    } catch (error) {
      this.logOnce(error instanceof Error ? error.message : String(error));
      // Not to be woken from: every commit of a busy host wakes, and would make it a tight loop.
      await this.clock.sleep(ERROR_PAUSE_MS, this.stopping.signal);
    }
  }

  private async runLimited(): Promise<boolean> {
    const { name, limitMs } = this.deps;
    if (limitMs === undefined) return this.deps.runOnce(this.stopping.signal);
    // Not AbortSignal.any: Node 20 keeps each of those for as long as the signal of the loop lives.
    const run = new AbortController();
    const stop = (): void => run.abort();
    this.stopping.signal.addEventListener('abort', stop, { once: true });
    try {
      return await inTime(this.clock, limitMs, this.deps.runOnce(run.signal), () => {
        run.abort();
        return new StuckLoopError(name, limitMs);
      });
    } finally {
      this.stopping.signal.removeEventListener('abort', stop);
    }
  }

  /** The same failure every second fills a log without telling more. */
  private logOnce(message: string): void {
    if (message !== this.lastError) this.logger.error(`failed, trying again: ${message}`);
    this.lastError = message;
  }

  private async sleep(ms: number): Promise<void> {
    if (this.isWoken || this.stopping.signal.aborted) return;
    this.sleeping = new AbortController();
    await this.clock.sleep(ms, this.sleeping.signal);
  }
}
