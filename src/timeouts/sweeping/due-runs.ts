import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import { ownQuery } from '../../database';
import { DueTimeoutLockedError, EndlessTimeoutsError } from '../timeout-errors';
import { type TimeoutRef } from '../timeout';
import { type TimeoutProcessor } from '../timeout-processor';

interface RunsDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly processors: ReadonlyMap<string, Pick<TimeoutProcessor, 'sweepPage' | 'whenIdle'>>;
}

/** The kind whose timeout has been due for longest, and until when no other kind has one. */
interface NextRun {
  readonly kind: string;
  readonly key: string;
  readonly at: string;
  readonly until: string;
}

/** A page has up to 200 rows. More pages than this in one go means that a handler makes every timeout due again. */
const MOST_PAGES = 10_000;
/** How long the rows of a transaction that is being committed are waited for. */
const LOCKED_MS = 2_000;
const LOOK_MS = 20;

/** Runs what is due when it is asked to, for tests: the earliest first, whatever its kind, and look-ups to their end. */
export class DueRuns {
  private readonly nextSql: string;

  constructor(
    private readonly deps: RunsDependencies,
    private readonly clock: Clock,
  ) {
    this.nextSql = `
      WITH due AS (
        SELECT DISTINCT ON (kind) kind, key, next_attempt_at AS at FROM ${deps.schema}.timeout
         WHERE kind = ANY($1) AND state = 'pending' AND next_attempt_at <= now() ORDER BY kind, next_attempt_at, key),
      first AS (SELECT * FROM due ORDER BY at, kind LIMIT 1)
      SELECT kind, key, at::text, coalesce((SELECT min(at) FROM due WHERE due.at > first.at), 'infinity')::text AS until
        FROM first`;
  }

  /** @throws DueTimeoutLockedError, EndlessTimeoutsError */
  async run(): Promise<void> {
    for (let page = 0; page < MOST_PAGES; page++) {
      const next = await this.next();
      if (!next) return;
      await this.settle(next);
    }
    throw new EndlessTimeoutsError(MOST_PAGES);
  }

  /** Whole milliseconds until the next timeout is due, rounded up; undefined: none is pending. */
  async untilNext(): Promise<number | undefined> {
    const kinds = [...this.deps.processors.keys()];
    return this.milliseconds('min(next_attempt_at)', `kind = ANY($1) AND state = 'pending'`, [kinds]);
  }

  /** The same for one timeout. Zero if it is due, or not pending. */
  async untilDue({ kind, key }: TimeoutRef): Promise<number> {
    const ms = await this.milliseconds('min(due_at)', `kind = $1 AND key = $2 AND state = 'pending'`, [kind, key]);
    return ms ?? 0;
  }

  private async milliseconds(at: string, where: string, values: unknown[]): Promise<number | undefined> {
    const [row] = await ownQuery<{ ms: number | null }[]>(
      this.deps.dataSource,
      `SELECT GREATEST(0, ceil(extract(epoch FROM ${at} - now()) * 1000))::float8 AS ms
         FROM ${this.deps.schema}.timeout WHERE ${where} HAVING count(*) > 0`,
      values,
    );
    return row?.ms ?? undefined;
  }

  private async settle(next: NextRun): Promise<void> {
    const endsAt = this.clock.monotonic() + LOCKED_MS;
    while ((await this.settlePage(next)) === 0) {
      if (this.clock.monotonic() > endsAt) throw new DueTimeoutLockedError(next, LOCKED_MS);
      await this.clock.sleep(LOOK_MS);
    }
  }

  private async settlePage({ kind, until }: NextRun): Promise<number> {
    const processor = this.deps.processors.get(kind);
    if (!processor) throw new Error(`no handler of "${kind}"`);
    const everything = { from: { at: '-infinity', key: '' }, sinceMs: -Infinity, beganMs: -Infinity, isPast: false };
    const { rows } = await processor.sweepPage({ ...everything, until }, 0);
    await processor.whenIdle();
    return rows;
  }

  private async next(): Promise<NextRun | undefined> {
    const kinds = [...this.deps.processors.keys()];
    const [next] = await ownQuery<NextRun[]>(this.deps.dataSource, this.nextSql, [kinds]);
    return next;
  }
}
