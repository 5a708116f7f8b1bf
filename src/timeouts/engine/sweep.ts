import { type DataSource } from 'typeorm';
import { ownQuery, type ScanRange } from '../../database';
import { type Clock, PollingLoop } from '../../clock';
import { type ResolvedSweepOptions } from '../model/timeouts-options';
import { type TimeoutProcessor } from './timeout-processor';
import { type NextWakeUp } from './timeout-settler';

interface SweepDependencies {
  readonly processor: Pick<TimeoutProcessor, 'kind' | 'isIdle' | 'isSaturated' | 'sweepPage' | 'add' | 'overdue'>;
  readonly dataSource: DataSource;
  /** Statement that lists what is due soon: $1 kind, $2 within ms, $3 limit. */
  readonly upcomingSql: string;
  readonly options: ResolvedSweepOptions;
  /** Pages handled side by side. */
  readonly concurrency: number;
  /** True while no broker wakes us: then the sweep is the clock. */
  isClock(): boolean;
  isPaused(): boolean;
  /** Called when a run has found timeouts that a wake-up should have brought; `count` tells how many still lack one. */
  missed(count: () => number): void;
}

/** How often the sweep looks whether it has become the clock, and its interval while it is. */
const TICK_MS = 1_000;

/** On top of the budget: enough for one page's transaction, its handler, and its items one by one. */
const RUN_LIMIT_MS = 120_000;

/** As the clock it looks this far ahead and holds what it finds, so that nothing waits for the next tick. */
const LOOK_AHEAD_MS = 2_000;

const LOOK_AHEAD_ROWS = 20_000;

const SATURATED_MS = 50;

/** A broker that was killed may stall dead-lettering for 3 minutes (its confirm time-out) without anything being closed. */
const WARY_MS = 180_000;

const WARY_INTERVAL_MS = 5_000;

/**
 * The second clock: finds overdue rows of one kind in the database, whatever became of their messages. Several
 * instances share the work by themselves: each page is locked with SKIP LOCKED, so no two see the same row.
 */
export class Sweep {
  private readonly loop: PollingLoop;
  private readonly held = new Set<string>();
  private lastFullMs = -Infinity;
  private waryUntilMs = -Infinity;
  private hasMore = false;
  private caughtUp = false;
  /** The message path is up and has had the first go: what is found overdue now has missed its wake-up. */
  private isSecond = false;
  /** What is overdue after a pause has missed no wake-up. */
  private wasPaused = false;

  constructor(
    private readonly deps: SweepDependencies,
    private readonly clock: Clock,
  ) {
    this.loop = new PollingLoop(clock, {
      name: `sweep:${deps.processor.kind}`,
      runOnce: (signal) => this.tick(signal),
      intervalMs: TICK_MS,
      limitMs: deps.options.budgetMs + RUN_LIMIT_MS,
    });
  }

  start(): void {
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Everything that was overdue at the start has been handled once. */
  get hasCaughtUp(): boolean {
    return this.caughtUp;
  }

  /** Handles overdue rows for at most the budget. `marginMs` leaves the normal path the first go. */
  async runOnce(marginMs: number, signal?: AbortSignal): Promise<{ rows: number; hasMore: boolean }> {
    const endsAt = this.clock.monotonic() + this.deps.options.budgetMs;
    // Beside batches of its own kind one lane is enough: they wait for the same rows of stock.
    const count = this.deps.processor.isIdle ? this.deps.concurrency : 1;
    // Mostly nothing is overdue, in the past or since, which needs no other lanes.
    const first = await this.sweepPages({ marginMs, endsAt, stopsAtRows: true }, signal);
    if (!first.next) return { rows: first.rows, hasMore: first.hasMore };
    const lanes = Array.from({ length: count }, (_one, lane) =>
      this.sweepPages({ marginMs, endsAt, ...(lane === 0 && { from: first.next }) }, signal),
    );
    // All lanes end before a failure is told: the next run must not begin beside one of them.
    const results = (await Promise.allSettled(lanes)).map(valueOf);
    return {
      rows: results.reduce((sum, { rows }) => sum + rows, first.rows),
      hasMore: results.some(({ hasMore }) => hasMore),
    };
  }

  /** Handles everything that is overdue. Returns how many rows that were; a row whose look-up goes on counts again. */
  async runToEnd(signal?: AbortSignal): Promise<number> {
    for (let sum = 0; ;) {
      const { rows, hasMore } = await this.runOnce(0, signal);
      sum += rows;
      if (!hasMore || signal?.aborted) return sum;
    }
  }

  /** What becomes due within the look-ahead is held here, to be handled at its very millisecond. */
  async takeUpcoming(): Promise<number> {
    const { processor, dataSource, upcomingSql } = this.deps;
    const rows = await ownQuery<NextWakeUp[]>(dataSource, upcomingSql, [
      processor.kind,
      LOOK_AHEAD_MS,
      LOOK_AHEAD_ROWS,
    ]);
    for (const row of rows) this.take(row.key, row.generation, row.due_ms);
    return rows.length;
  }

  /** Holds one row that is known to become due; those beyond the look-ahead are left to a later tick. */
  take(key: string, generation: string, dueAtMs: number): void {
    const identity = `${generation}@${dueAtMs}`;
    if (this.held.has(identity)) return;
    this.held.add(identity);
    this.deps.processor.add({
      wakeUp: { key, generation, dueAtMs, cause: 'sweep' },
      finish: () => this.held.delete(identity),
    });
  }

  private async tick(signal: AbortSignal): Promise<void> {
    if (this.deps.isPaused()) {
      this.caughtUp = this.wasPaused = true;
      return;
    }
    const isClock = this.deps.isClock();
    if (isClock) await this.takeUpcoming();
    const startedMs = this.clock.monotonic();
    const isFullDue = startedMs - this.lastFullMs >= this.intervalMs(startedMs);
    if (!isClock && !isFullDue && !this.hasMore) return;
    this.isSecond = !isClock && this.caughtUp && !this.wasPaused;
    this.deps.processor.overdue.begin();
    // The first run catches up with what became due while nobody was running, so it leaves no margin.
    const { rows, hasMore } = await this.runOnce(this.isSecond ? this.deps.options.marginMs : 0, signal);
    if (this.isSecond) this.reportMissed();
    // Only now: a run that failed has to be made up for at the next tick.
    this.lastFullMs = startedMs;
    this.hasMore = hasMore;
    this.caughtUp ||= !hasMore;
    this.wasPaused &&= hasMore;
    if (isClock || rows > 0) this.waryUntilMs = startedMs + WARY_MS;
  }

  /** Shorter while the transport has recently been unavailable, or has left something to the sweep: there may be more. */
  private intervalMs(nowMs: number): number {
    const { intervalMs } = this.deps.options;
    return nowMs < this.waryUntilMs ? Math.min(intervalMs, WARY_INTERVAL_MS) : intervalMs;
  }

  private reportMissed(): void {
    const count = this.deps.processor.overdue.end();
    if (count() > 0) this.deps.missed(count);
  }

  private async sweepPages(
    { marginMs, endsAt, from, stopsAtRows = false }: Lane,
    signal?: AbortSignal,
  ): Promise<{ rows: number; hasMore: boolean; next?: ScanRange }> {
    let next = from;
    let rows = 0;
    while (!signal?.aborted && this.clock.monotonic() < endsAt) {
      if (this.deps.processor.isSaturated) {
        await this.clock.sleep(SATURATED_MS, signal);
        continue;
      }
      const page = await this.deps.processor.sweepPage(next, marginMs);
      rows += page.rows;
      next = page.next;
      if (!next) return { rows, hasMore: false };
      if (stopsAtRows && rows > 0) break;
    }
    return { rows, hasMore: true, ...(next && { next }) };
  }
}

/** Reads page after page, beside others that skip what it has locked. */
interface Lane {
  readonly marginMs: number;
  /** By the monotonic clock. */
  readonly endsAt: number;
  /** Undefined: it begins with what is overdue longest. */
  readonly from?: ScanRange | undefined;
  /** It ends with the first page that is not empty. */
  readonly stopsAtRows?: boolean;
}

function valueOf<T>(result: PromiseSettledResult<T>): T {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}
