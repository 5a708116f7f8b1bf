import { type DataSource } from 'typeorm';
import { ownQuery } from '../database';
import { EVERY_TIMEOUT, pendingKinds, TIMEOUT_RECORD, type TimeoutScope } from './scheduling/timeout-scheduler';
import { type TimeoutRecord, type TimeoutRef } from './model/timeout';

/** Parked timeouts of one kind, with one reason. */
export interface ParkedGroup {
  readonly kind: string;
  /** Numbers and quoted values of the reason are left out, so that like reasons are one. */
  readonly reason: string;
  readonly count: number;
  /** The earliest deadline of the group. */
  readonly oldestAt: Date;
}

interface ParkedPage {
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
      `SELECT ${TIMEOUT_RECORD} FROM ${this.schema}.timeout t
        WHERE t.state = 'parked' AND (t.kind, t.key) > ($2, $3) AND ($4::text IS NULL OR t.kind = $4)
          AND ($5::text IS NULL OR ${REASON} = $5) AND ${scope.condition('t', '$1')}
        ORDER BY t.kind, t.key LIMIT $6`,
      [scope.values, after.kind, after.key, kind ?? null, reason ?? null, limit],
    );
  }

  find(refs: readonly TimeoutRef[]): Promise<TimeoutRecord[]> {
    return ownQuery(
      this.dataSource,
      `SELECT ${TIMEOUT_RECORD} FROM unnest($1::text[], $2::text[]) AS r(kind, key), LATERAL (
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
      `SELECT ${TIMEOUT_RECORD} FROM ${this.schema}.timeout t
        WHERE t.kind = $2 AND t.state = '${state}' AND ${scope.condition('t', '$1')} ORDER BY t.key LIMIT $3`,
      [scope.values, kind, limit],
    );
  }

  private parked(scope: TimeoutScope): string {
    return `SELECT t.* FROM ${this.schema}.timeout t
             WHERE t.state = 'parked' AND ${scope.condition('t', '$1')}`;
  }
}

export interface TimeoutCounts {
  readonly kind: string;
  readonly pending: number;
  /** Of the pending ones, those whose time has passed, also if they are looked up again or wait for a pause to end. */
  readonly overdue: number;
  /** Of these, those that may be handled now. */
  readonly ready: number;
  readonly parked: number;
}

/** Counts the timeouts of every kind. Reads the whole table: about a second per million. */
export function countTimeouts(dataSource: DataSource, schema: string): Promise<TimeoutCounts[]> {
  return ownQuery(
    dataSource,
    `SELECT kind, (count(*) FILTER (WHERE state = 'pending'))::int AS pending,
            (count(*) FILTER (WHERE state = 'pending' AND LEAST(due_at, next_attempt_at) <= now()))::int AS overdue,
            (count(*) FILTER (WHERE state = 'pending' AND next_attempt_at <= now()))::int AS ready,
            (count(*) FILTER (WHERE state = 'parked'))::int AS parked
       FROM ${schema}.timeout GROUP BY kind ORDER BY kind`,
  );
}

/** Rows that are read for each kind, at most. While a provider is paused, the first one counts. */
const MOST_READ = 10_000;

/**
 * How long the most overdue timeout of each kind has been waiting, in seconds; kinds with nothing overdue are absent. What
 * is looked up again and again waits from its next time on. What cannot be looked up, because its provider is paused,
 * waits from its deadline on (`asked_since` is before it). Reads little by indexes, so it may be asked at every scrape.
 */
export async function oldestOverdue(dataSource: DataSource, schema: string): Promise<ReadonlyMap<string, number>> {
  const rows = await ownQuery<{ kind: string; seconds: number }[]>(
    dataSource,
    `
    WITH RECURSIVE ${pendingKinds(schema)},
    oldest AS MATERIALIZED (
      SELECT kind, LEAST(
               (SELECT t.next_attempt_at FROM ${schema}.timeout t
                 WHERE t.kind = kinds.kind AND t.state = 'pending' ORDER BY t.next_attempt_at LIMIT 1),
               (SELECT min(again.due_at) FROM (
                  SELECT t.due_at, t.asked_since FROM ${schema}.timeout t
                   WHERE t.kind = kinds.kind AND t.state = 'pending' AND t.next_attempt_at > t.due_at
                   ORDER BY t.due_at LIMIT ${MOST_READ}) AS again
                 WHERE again.asked_since < again.due_at)) AS due_at
        FROM kinds WHERE kind IS NOT NULL)
    SELECT kind, extract(epoch FROM now() - due_at)::float8 AS seconds FROM oldest WHERE due_at <= now()`,
  );
  return new Map(rows.map(({ kind, seconds }) => [kind, seconds]));
}

const UNDECIDED = `state = 'pending' AND next_attempt_at > due_at`;

/**
 * For how long the oldest timeout of each kind has been past its deadline without an answer, in seconds. It is asked again in
 * time, so it is not overdue: nothing else tells that an order has been held open for days. Kinds without one are absent.
 */
export async function oldestUndecided(dataSource: DataSource, schema: string): Promise<ReadonlyMap<string, number>> {
  const rows = await ownQuery<{ kind: string; seconds: number }[]>(
    dataSource,
    `
    WITH RECURSIVE oldest AS (
      (SELECT kind, due_at FROM ${schema}.timeout WHERE ${UNDECIDED} ORDER BY kind, due_at LIMIT 1)
      UNION ALL
      SELECT next.kind, next.due_at
        FROM oldest, LATERAL (SELECT t.kind, t.due_at FROM ${schema}.timeout t
                               WHERE ${UNDECIDED} AND t.kind > oldest.kind ORDER BY t.kind, t.due_at LIMIT 1) next)
    SELECT kind, extract(epoch FROM now() - due_at)::float8 AS seconds FROM oldest WHERE due_at <= now()`,
  );
  return new Map(rows.map(({ kind, seconds }) => [kind, seconds]));
}

/** Timeouts of one kind that fail and are tried again. */
interface FailingTimeouts {
  readonly kind: string;
  readonly count: number;
  /** Since the deadline of the one that has failed for longest. */
  readonly seconds: number;
  readonly reason: string;
}

/** What has failed for `seconds` since its deadline, such as deliveries to a webhook that is down, by kind. */
export function findFailing(
  dataSource: DataSource,
  schema: string,
  kinds: { readonly except: readonly string[]; readonly seconds: number },
): Promise<FailingTimeouts[]> {
  return ownQuery(
    dataSource,
    `SELECT kind, count(*)::int AS count, (array_agg(last_error ORDER BY due_at))[1] AS reason,
            extract(epoch FROM now() - min(due_at))::float8 AS seconds
       FROM ${schema}.timeout
      WHERE ${UNDECIDED} AND due_at <= now() - $1 * interval '1 second' AND last_error IS NOT NULL
            AND CASE WHEN kind = ANY($2::text[]) THEN asked_since IS NULL ELSE attempts > 0 END GROUP BY kind ORDER BY kind`,
    [kinds.seconds, kinds.except],
  );
}

/** SQL: the timeouts of one kind that are past their deadline and asked again. @param kind as SQL text */
export function undecidedTimeouts(schema: string, kind: string): string {
  return `(SELECT key, due_at, asked_since, last_error FROM ${schema}.timeout
            WHERE kind = ${kind} AND ${UNDECIDED} AND due_at <= now())`;
}
