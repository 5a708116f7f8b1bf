import { setMaxListeners } from 'node:events';
import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import { CodedError, messageOf } from '../errors';

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

/** Resolves to what `work` does, or to `otherwise` after `ms` or when `signal` aborts. Leaves no timer behind. */
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

  left(): number {
    return Math.max(this.endsAt - this.clock.monotonic(), 0);
  }

  /** Resolves to the result of `work`, or to `otherwise` if the deadline comes first. */
  within<T>(work: Promise<T>, otherwise: T): Promise<T> {
    return withTimeout(this.clock, this.left(), work, otherwise);
  }
}

interface LoopDependencies {
  readonly name: string;
  /** Does one bounded piece of work. Returns true if more work is ready now. */
  runOnce(signal: AbortSignal): Promise<boolean | void>;
  /** Sleep after a run without remaining work, milliseconds. A function is called before each sleep. */
  readonly intervalMs: number | (() => number);
  /** How long a run waits for more work to arrive, unless the previous run left some. @default 0 */
  readonly gatherMs?: number;
  /**
   * A run that takes longer is aborted, and the next one starts whether or not the first has ended. Set it only if two
   * runs may overlap. @default no limit
   */
  readonly limitMs?: number;
}

/** A loop that fails at every second run would otherwise add a line each second. */
const TELL_AGAIN_MS = 60_000;

/** Pause after a failed run, so that an unavailable database is not queried in a tight loop. */
const ERROR_PAUSE_MS = 1_000;

/** Calls `runOnce` repeatedly: immediately while there is more work, otherwise after the interval or when woken. */
export class PollingLoop {
  private readonly logger: Logger;
  private readonly stopping = new AbortController();
  private sleeping = new AbortController();
  private running: Promise<void> | undefined;
  private isWoken = false;
  private hasMore = false;
  /** The same line every second would fill the log and add nothing. */
  private readonly told: ToldFailures;

  constructor(
    private readonly clock: Clock,
    private readonly deps: LoopDependencies,
  ) {
    this.told = new ToldFailures(clock, TELL_AGAIN_MS);
    this.logger = new Logger(`Loop:${deps.name}`);
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Ends the sleep, because there may be work. */
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
    while (!this.stopping.signal.aborted) await this.runSafely();
  }

  private async runSafely(): Promise<void> {
    const { gatherMs, intervalMs } = this.deps;
    if (gatherMs !== undefined && !this.hasMore) await this.clock.sleep(gatherMs, this.stopping.signal);
    if (this.stopping.signal.aborted) return;
    // Reset here and not earlier: this run finds the work of every earlier wake-up call.
    this.isWoken = false;
    try {
      this.hasMore = (await this.runLimited()) === true;
      this.told.worked();
      if (!this.hasMore) await this.sleep(typeof intervalMs === 'number' ? intervalMs : intervalMs());
    } catch (error) {
      if (this.told.isNew(error)) this.logger.error(`failed, retrying: ${messageOf(error)}`);
      // `wake` must not end this pause: every commit of a busy host calls it, which would make this a tight loop.
      await this.clock.sleep(ERROR_PAUSE_MS, this.stopping.signal);
    }
  }

  private async runLimited(): Promise<boolean | void> {
    const { name, limitMs } = this.deps;
    if (limitMs === undefined) return this.deps.runOnce(this.stopping.signal);
    // Not AbortSignal.any: Node 20 keeps each of those signals for as long as the loop's signal lives.
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

  private async sleep(ms: number): Promise<void> {
    if (this.isWoken || this.stopping.signal.aborted) return;
    this.sleeping = new AbortController();
    await this.clock.sleep(ms, this.sleeping.signal);
  }
}

/** A run of a loop neither ended nor failed. The loop continues without it. */
class StuckLoopError extends CodedError {
  constructor(name: string, limitMs: number) {
    super(
      'LOOP_STUCK',
      `a run of the loop ${name} did not end within ${limitMs} ms, so the loop continues without it; look for a handler or ` +
        'a connection that does not respond',
    );
  }
}

/** More are told again: messages of errors without a code may differ each time. */
const MOST_KINDS = 20;

/** Tells which failures of work that is tried again are worth a line: the first of each kind since it last succeeded. */
export class ToldFailures {
  private readonly toldAt = new Map<string, number>();
  private workedAt = -Infinity;

  /** @param tellAgainMs at most one line of a kind in this time */
  constructor(
    private readonly clock: Clock,
    private readonly tellAgainMs = 0,
  ) {}

  /** Of one kind are errors with the same code, or else the same message. */
  isNew(error: unknown): boolean {
    const { code } = Object(error) as { code?: unknown };
    const kind = typeof code === 'string' ? code : messageOf(error);
    const now = this.clock.monotonic();
    const toldAt = this.toldAt.get(kind);
    if (toldAt !== undefined && (this.workedAt < toldAt || now < toldAt + this.tellAgainMs)) return false;
    this.toldAt.delete(kind);
    const [oldest] = this.toldAt.keys();
    if (oldest !== undefined && this.toldAt.size >= MOST_KINDS) this.toldAt.delete(oldest);
    this.toldAt.set(kind, now);
    return true;
  }

  worked(): void {
    this.workedAt = this.clock.monotonic();
  }
}

/**
 * Milliseconds of a Retry-After header, which has seconds or an HTTP date. Undefined if it is missing or invalid.
 *
 * @param mostMs longer waits are cut to this
 */
export function retryAfterMs(header: string | undefined, nowMs: number, mostMs: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), mostMs);
}
