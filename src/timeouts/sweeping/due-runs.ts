import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import { ownQuery } from '../../database';
import { type TimeoutRef } from '../timeout';
import { DueTimeoutLockedError, EndlessTimeoutsError } from '../timeout-errors';
import { type TimeoutProcessor } from '../timeout-processor';

interface RunsDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly processors: ReadonlyMap<string, Pick<TimeoutProcessor, 'add' | 'whenIdle'>>;
}

/** The timeout that has been due for longest, and until when no other kind has one. */
interface FirstDue extends TimeoutRef {
  readonly until: string;
}

interface DueRow {
  readonly key: string;
  readonly generation: string;
  readonly due_ms: number;
}

/** More in one go means that a handler makes every timeout due again. */
const MOST_PAGES = 10_000;
const PAGE = 200;
/** How long the rows of a transaction that is being committed are waited for. */
const LOCKED_MS = 2_000;
const LOOK_MS = 20;

/** Runs what is due when it is asked to, for tests: the earliest first, whatever its kind, and look-ups to their end. */
export class DueRuns {
  private readonly firstSql: string;
  private readonly pageSql: string;

  constructor(
    private readonly deps: RunsDependencies,
    private readonly clock: Clock,
  ) {
    this.firstSql = `
      WITH due AS (
        SELECT DISTINCT ON (kind) kind, key, next_attempt_at AS at FROM ${deps.schema}.timeout
         WHERE kind = ANY($1) AND state = 'pending' AND next_attempt_at <= now() ORDER BY kind, next_attempt_at, key),
      first AS (SELECT * FROM due ORDER BY at, kind LIMIT 1)
      SELECT kind, key, coalesce((SELECT min(at) FROM due WHERE due.at > first.at), 'infinity')::text AS until FROM first`;
    // Rows that a transaction of the test has locked are left out, because their wake-ups would wait for its end.
    this.pageSql = `
      SELECT key, generation::text AS generation, (extract(epoch FROM next_attempt_at) * 1000)::float8 AS due_ms
        FROM ${deps.schema}.timeout
       WHERE kind = $1 AND state = 'pending' AND next_attempt_at <= now() AND next_attempt_at < $2::timestamptz
       ORDER BY next_attempt_at, key LIMIT ${PAGE} FOR UPDATE SKIP LOCKED`;
  }

  /** @throws DueTimeoutLockedError, EndlessTimeoutsError */
  async run(): Promise<void> {
    for (let page = 0; page < MOST_PAGES; page++) {
      const first = await this.first();
      if (!first) return;
      await this.settle(first.kind, await this.page(first));
    }
    throw new EndlessTimeoutsError(MOST_PAGES);
  }

  /** Whole milliseconds until the next timeout is due, rounded up; undefined: none is pending. */
  untilNext(): Promise<number | undefined> {
    return this.milliseconds('min(next_attempt_at)', `kind = ANY($1) AND state = 'pending'`, [this.kinds]);
  }

  /** The same for one timeout. Zero if it is due, or not pending. */
  async untilDue({ kind, key }: TimeoutRef): Promise<number> {
    const ms = await this.milliseconds('min(due_at)', `kind = $1 AND key = $2 AND state = 'pending'`, [kind, key]);
    return ms ?? 0;
  }

  private get kinds(): string[] {
    return [...this.deps.processors.keys()];
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

  private async first(): Promise<FirstDue | undefined> {
    const [first] = await ownQuery<FirstDue[]>(this.deps.dataSource, this.firstSql, [this.kinds]);
    return first;
  }

  private async page(first: FirstDue): Promise<DueRow[]> {
    const endsAt = this.clock.monotonic() + LOCKED_MS;
    for (;;) {
      const rows = await ownQuery<DueRow[]>(this.deps.dataSource, this.pageSql, [first.kind, first.until]);
      if (rows.length > 0) return rows;
      if (this.clock.monotonic() > endsAt) throw new DueTimeoutLockedError(first, LOCKED_MS);
      await this.clock.sleep(LOOK_MS);
    }
  }

  private async settle(kind: string, rows: readonly DueRow[]): Promise<void> {
    const processor = this.deps.processors.get(kind);
    if (!processor) throw new Error(`no handler of "${kind}"`);
    const finished = rows.map(
      ({ key, generation, due_ms: dueAtMs }) =>
        new Promise<void>((resolve) =>
          processor.add({ wakeUp: { key, generation, dueAtMs, cause: 'sweep' }, finish: () => resolve() }),
        ),
    );
    await Promise.all(finished);
    await processor.whenIdle();
  }
}
