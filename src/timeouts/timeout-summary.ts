import { type DataSource } from 'typeorm';
import { ownQuery } from '../database';
import { EVERY_TIMEOUT, type TimeoutScope } from './scheduling/timeout-scope';
import { type TimeoutRecord, type TimeoutRef } from './timeout';

/** Parked timeouts of one kind, with one reason. */
export interface ParkedGroup {
  readonly kind: string;
  /** Numbers and quoted values of the reason are left out, so that like reasons are one. */
  readonly reason: string;
  readonly count: number;
  /** The earliest deadline of the group. */
  readonly oldestAt: Date;
}

/** Which parked timeouts to list. */
export interface ParkedPage {
  readonly kind?: string | undefined;
  /** As a ParkedGroup has it. */
  readonly reason?: string | undefined;
  /** The last one of the previous page. */
  readonly after: TimeoutRef;
  readonly limit: number;
}

/** When the pending timeouts of a kind are due. */
export interface DueCounts {
  /** By minute from now on, `minutes` of them. */
  readonly byMinute: readonly number[];
  /** Those whose deadline has passed, also if they are tried again later. */
  readonly overdue: number;
}

/** Counting stops here: a larger number would need to read more rows than a person can wait for. */
export const COUNT_LIMIT = 10_001;
/** Per minute, because there are 60 minutes. */
export const MINUTE_LIMIT = 2_001;

/** The reason of a row without what differs from row to row. */
const REASON = `regexp_replace(regexp_replace(COALESCE(t.last_error, ''), '"[^"]*"', '"…"', 'g'), '[0-9]+', '#', 'g')`;

const RECORD = `t.kind, t.key, t.generation::text, t.due_at AS "dueAt", t.next_attempt_at AS "nextAttemptAt", t.attempts,
  t.state, t.last_error AS "lastError", t.payload`;

/** Numbers and lists of timeouts for people. Every statement reads a bounded number of rows by an index. */
export class TimeoutSummary {
  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {}

  /** When the pending timeouts of a kind are due, each number up to its limit. */
  async due(kind: string, minutes: number): Promise<DueCounts> {
    const rows = await ownQuery<{ minute: number; count: number }[]>(this.dataSource, this.dueSql, [kind, minutes]);
    const counts = rows.map(({ count }) => count);
    return { overdue: counts[0] ?? 0, byMinute: counts.slice(1) };
  }

  /** @internal For tests: $1 kind, $2 minutes. The first row is what is overdue. */
  get dueSql(): string {
    const counted = (condition: string, order: string, limit: number): string => `
      (SELECT count(*)::int FROM (
         SELECT 1 FROM ${this.schema}.timeout t WHERE t.kind = $1 AND t.state = 'pending' AND ${condition}
          ORDER BY t.${order} LIMIT ${limit}) counted)`;
    const between = (from: string, to: string, limit: number): string =>
      counted(`t.next_attempt_at > ${from} AND t.next_attempt_at <= ${to}`, 'next_attempt_at', limit);
    const isLater = 't.next_attempt_at > t.due_at AND t.due_at <= now() AND t.next_attempt_at > now()';
    const overdue = [between(`'-infinity'`, 'now()', COUNT_LIMIT), counted(isLater, 'due_at', COUNT_LIMIT)];
    const at = (minute: string): string => `now() + ${minute} * interval '1 minute'`;
    return `
      SELECT m AS minute,
             CASE WHEN m < 0 THEN LEAST(${overdue.join(' + ')}, ${COUNT_LIMIT})
                  ELSE ${between(at('m'), at('(m + 1)'), MINUTE_LIMIT)} END AS count
        FROM generate_series(-1, $2::int - 1) m ORDER BY m`;
  }

  /** Parked timeouts by kind, at most COUNT_LIMIT in all. */
  async parkedByKind(scope: TimeoutScope = EVERY_TIMEOUT): Promise<ReadonlyMap<string, number>> {
    const rows = await ownQuery<{ kind: string; count: number }[]>(
      this.dataSource,
      `SELECT kind, count(*)::int AS count FROM (${this.parked(scope)} LIMIT ${COUNT_LIMIT}) t GROUP BY kind`,
      [scope.values],
    );
    return new Map(rows.map(({ kind, count }) => [kind, count]));
  }

  /** The largest group first. Counts the first COUNT_LIMIT parked timeouts. */
  parkedGroups(scope: TimeoutScope = EVERY_TIMEOUT): Promise<ParkedGroup[]> {
    return ownQuery(
      this.dataSource,
      `SELECT t.kind, ${REASON} AS reason, count(*)::int AS count, min(t.due_at) AS "oldestAt"
         FROM (${this.parked(scope)} LIMIT ${COUNT_LIMIT}) t GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`,
      [scope.values],
    );
  }

  /** By kind and key. */
  parkedPage(
    { kind, reason, after, limit }: ParkedPage,
    scope: TimeoutScope = EVERY_TIMEOUT,
  ): Promise<TimeoutRecord[]> {
    return ownQuery(
      this.dataSource,
      `SELECT ${RECORD} FROM ${this.schema}.timeout t
        WHERE t.state = 'parked' AND (t.kind, t.key) > ($2, $3) AND ($4::text IS NULL OR t.kind = $4)
          AND ($5::text IS NULL OR ${REASON} = $5) AND ${scope.condition('t', '$1')}
        ORDER BY t.kind, t.key LIMIT $6`,
      [scope.values, after.kind, after.key, kind ?? null, reason ?? null, limit],
    );
  }

  /** The timeouts among these that exist. */
  find(refs: readonly TimeoutRef[]): Promise<TimeoutRecord[]> {
    return ownQuery(
      this.dataSource,
      `SELECT ${RECORD} FROM unnest($1::text[], $2::text[]) AS r(kind, key), LATERAL (
         SELECT * FROM ${this.schema}.timeout t WHERE t.kind = r.kind AND t.key = r.key OFFSET 0) t ORDER BY t.due_at`,
      [refs.map((ref) => ref.kind), refs.map((ref) => ref.key)],
    );
  }

  /** Timeouts of one kind, by key. */
  ofKind(
    kind: string,
    state: 'pending' | 'parked',
    limit: number,
    scope: TimeoutScope = EVERY_TIMEOUT,
  ): Promise<TimeoutRecord[]> {
    return ownQuery(
      this.dataSource,
      `SELECT ${RECORD} FROM ${this.schema}.timeout t
        WHERE t.kind = $2 AND t.state = '${state}' AND ${scope.condition('t', '$1')} ORDER BY t.key LIMIT $3`,
      [scope.values, kind, limit],
    );
  }

  private parked(scope: TimeoutScope): string {
    return `SELECT t.* FROM ${this.schema}.timeout t
             WHERE t.state = 'parked' AND ${scope.condition('t', '$1')}`;
  }
}
