import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { type Clock, PollingLoop } from '../../clock';

const SYNC_MS = 10_000;

const SAMPLES = 3;

const RUN_LIMIT_MS = 60_000;

/**
 * The database's time, estimated in the process so that a held wake-up can be released at the right millisecond.
 * Deliberately never ahead: each sample assumes that the answer took no time to travel. What is due is still decided
 * by PostgreSQL's now() in the claim.
 */
export class DatabaseClock {
  private offset: number | undefined;
  private readonly loop: PollingLoop;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {
    this.loop = new PollingLoop(clock, {
      name: 'database-clock',
      runOnce: () => this.synchronise().then(() => false),
      intervalMs: () => SYNC_MS,
      limitMs: RUN_LIMIT_MS,
    });
  }

  /** Synchronises once, then every ten seconds (clocks drift, and are set). */
  async start(): Promise<void> {
    await this.synchronise();
    this.loop.start();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  /** Epoch milliseconds, with fractions. */
  nowMs(): number {
    if (this.offset === undefined) throw new Error('DatabaseClock.start() was not awaited');
    return this.clock.monotonic() + this.offset;
  }

  private async synchronise(): Promise<void> {
    let best = -Infinity;
    for (let sample = 0; sample < SAMPLES; sample++) best = Math.max(best, await this.sample());
    this.offset = best;
  }

  private async sample(): Promise<number> {
    const [row] = await ownQuery<{ now: number }[]>(
      this.dataSource,
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    );
    return Number(row?.now) - this.clock.monotonic();
  }
}
