import { type DataSource, type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import {
  GROUP_COMMIT,
  GroupCommit,
  isDatabaseUnavailable,
  joinTransaction,
  ownQuery,
  ownTransaction,
  storableJson,
  type Tables,
  type TransactionOptions,
} from '../../database';
import { activeTraceparent } from '../../tracing';
import { announceAfterCommit, insertWakeUps } from '../../outbox';
import { type ScheduleTimeout, type TimeoutCause, type TimeoutRecord, type TimeoutRef } from '../model/timeout';
import { InvalidTimeoutError, UnknownTimeoutKindError } from '../model/errors';

/**
 * Rows of one statement of ours. A long list takes several in its transaction, so that neither a statement nor the pause
 * between two, in which this process reads the answer and a busy machine lets it wait, comes near a limit.
 */
const PART = 5_000;

/** On a busy machine, more than the usual 5 s can pass between two parts of 150,000 rows. */
const LIST_LIMITS = { idleMs: 30_000 };

/**
 * How near a timeout must be for this process to trigger it without a message: two seconds, and as long as a transaction may
 * take from here to its commit.
 */
const NEAR = '10 s';

interface ScheduledRow extends TimeoutRef {
  readonly generation: string;
  readonly due_at: Date;
  readonly is_near: boolean;
}

interface LockedTimeout extends TimeoutRef {
  readonly isLookedUp: boolean;
}

interface SchedulerDependencies {
  readonly dataSource: DataSource;
  readonly queries: TimeoutQueries;
  /** False where no broker waits for us (transport `none`): then no wake-up rows are written. */
  readonly writesWakeUps: boolean;
  readonly horizonMs: number;
  /** Those that have a handler in this process. Absent: it may schedule timeouts of any kind, for others. */
  readonly knownKinds?: Pick<ReadonlySet<string>, 'has'>;
  wake(refs: readonly TimeoutRef[], cause: TimeoutCause): void;
}

/** A timeout as it was scheduled. */
export interface ScheduledTimeout extends TimeoutRef {
  readonly generation: string;
  readonly dueAt: Date;
}

/** Schedules, moves, cancels, and reads timeouts. */
export class TimeoutScheduler {
  private readonly groups: GroupCommit<readonly ScheduleTimeout[], ScheduledTimeout[]>;

  /** @internal Nest creates it. */
  constructor(private readonly deps: SchedulerDependencies) {
    this.groups = new GroupCommit({
      size: GROUP_COMMIT.size,
      lanes: GROUP_COMMIT.lanes,
      namesOf: (requests) => requests.map(nameOf),
      runTogether: (callers) => this.commitTogether(callers),
      runAlone: (requests) => this.commit(requests),
      isHopeless: isDatabaseUnavailable,
    });
  }

  /**
   * Schedules timeouts, or reschedules those that are pending or parked, in one transaction. If several requests have the
   * same kind and key, the last one counts.
   *
   * With `tx`, the timeouts exist if, and only if, that transaction commits. Without it, they are durable when the call
   * resolves. Concurrent calls without `tx` share a transaction, and their results do not depend on each other.
   *
   * @throws InvalidTimeoutError with all problems of all requests. Nothing was written.
   * @throws UnknownTimeoutKindError if no handler of the kind is registered in this process. Nothing was written.
   */
  async schedule(requests: readonly ScheduleTimeout[], { tx }: TransactionOptions = {}): Promise<ScheduledTimeout[]> {
    if (requests.length === 0) return [];
    this.check(requests);
    const traced = withTrace(requests);
    if (tx) return joinTransaction(this.tables, tx, (own) => this.write(own, this.valuesOf(lastOfEach(traced))));
    // More requests than a group may hold get a transaction of their own.
    return traced.length > GROUP_COMMIT.size ? this.commit(traced) : this.groups.run(traced);
  }

  private get tables(): Tables {
    return { dataSource: this.deps.dataSource, schema: this.deps.queries.schema };
  }

  private check(requests: readonly ScheduleTimeout[]): void {
    validateRequests(requests);
    const { knownKinds } = this.deps;
    const unknown = knownKinds && requests.find(({ kind }) => !knownKinds.has(kind));
    if (unknown) throw new UnknownTimeoutKindError(unknown.kind);
  }

  private commit(requests: readonly ScheduleTimeout[], lockMs = 0): Promise<ScheduledTimeout[]> {
    // Made before the transaction begins, whose pauses are limited.
    const parts = inParts(lastOfEach(requests)).map((rows) => this.valuesOf(rows));
    return this.inTurn(parts, (tx, values) => this.write(tx, values), lockMs);
  }

  /** In one transaction of our own. */
  private inTurn<T, R>(
    parts: readonly T[],
    run: (tx: EntityManager, part: T) => Promise<readonly R[]>,
    lockMs = 0,
  ): Promise<R[]> {
    const limits = parts.length > 1 ? { ...LIST_LIMITS, lockMs } : { lockMs };
    return ownTransaction(
      this.deps.dataSource,
      async (tx) => {
        const results: (readonly R[])[] = [];
        for (const part of parts) results.push(await run(tx, part));
        return results.flat();
      },
      limits,
    );
  }

  private async commitTogether(callers: readonly (readonly ScheduleTimeout[])[]): Promise<ScheduledTimeout[][]> {
    const scheduled = await this.commit(callers.flat(), GROUP_COMMIT.lockLimitMs);
    const byName = new Map(scheduled.map((timeout) => [nameOf(timeout), timeout]));
    return callers.map((requests) => lastOfEach(requests).flatMap((request) => byName.get(nameOf(request)) ?? []));
  }

  private valuesOf(rows: readonly ScheduleTimeout[]): unknown[] {
    return [
      rows.map((row) => row.kind),
      rows.map((row) => row.key),
      rows.map((row) => row.dueAt?.toISOString() ?? null),
      rows.map((row) => row.afterMs ?? null),
      rows.map((row) => storableJson(row.payload ?? {})),
      rows.map((row) => row.traceparent ?? null),
      rows.map(() => uuidv7()),
      this.deps.horizonMs,
      this.deps.writesWakeUps,
    ];
  }

  private async write(tx: EntityManager, values: unknown[]): Promise<ScheduledTimeout[]> {
    const scheduled = await tx.query<ScheduledRow[]>(this.deps.queries.schedule, values);
    const near = scheduled.filter(({ is_near: isNear }) => isNear);
    announceAfterCommit(
      tx,
      near.map(({ kind, key, generation, due_at: dueAt }) => ({ kind, key, generation, dueAtMs: dueAt.getTime() })),
      ['wake-up'],
    );
    return scheduled.map(({ kind, key, generation, due_at: dueAt }) => ({ kind, key, generation, dueAt }));
  }

  /** Cancels timeouts, including parked ones. Returns how many there were. */
  async cancel(refs: readonly TimeoutRef[], { tx }: TransactionOptions = {}): Promise<number> {
    if (refs.length === 0) return 0;
    const distinct = lastOfEach(refs);
    if (tx) return joinTransaction(this.tables, tx, (own) => this.remove(own, distinct));
    const counts = await this.inTurn(inParts(distinct), async (own, part) => [await this.remove(own, part)]);
    return counts.reduce((total, count) => total + count, 0);
  }

  /**
   * Locks timeouts in the order in which all others lock them. For a transaction that changes several of them one by one.
   * Returns those that are pending. `isLookedUp`: their look-up is running, and no other begins in this transaction.
   *
   * @internal
   */
  async lock(tx: EntityManager, refs: readonly TimeoutRef[]): Promise<LockedTimeout[]> {
    const distinct = lastOfEach(refs);
    const values = [distinct.map((ref) => ref.kind), distinct.map((ref) => ref.key)];
    const rows = await tx.query<(LockedTimeout & Pick<TimeoutRecord, 'state'>)[]>(this.deps.queries.lock, values);
    return rows.filter(({ state }) => state === 'pending');
  }

  private async remove(tx: EntityManager, refs: readonly TimeoutRef[]): Promise<number> {
    const [canceled] = await tx.query<{ count: number }[]>(this.deps.queries.cancel, [
      refs.map((ref) => ref.kind),
      refs.map((ref) => ref.key),
    ]);
    return canceled?.count ?? 0;
  }

  /** Reads a pending or parked timeout. Undefined: there is none. */
  async find(ref: TimeoutRef): Promise<TimeoutRecord | undefined> {
    const [row] = await ownQuery<TimeoutRecord[]>(this.deps.dataSource, this.deps.queries.find, [ref.kind, ref.key]);
    return row;
  }

  /** Lists pending timeouts of a kind, ordered by key. `limit`: 100 by default · `after`: the last key of the previous page. */
  pending(page: { kind: string; limit?: number; after?: string }): Promise<TimeoutRecord[]> {
    return ownQuery(this.deps.dataSource, this.deps.queries.pending, [page.kind, page.after ?? '', page.limit ?? 100]);
  }

  /** The kinds of which timeouts are pending, whether this process handles them or not. */
  async pendingKinds(): Promise<string[]> {
    const rows = await ownQuery<{ kind: string }[]>(this.deps.dataSource, this.deps.queries.kinds);
    return rows.map(({ kind }) => kind);
  }

  /**
   * Handles those of these timeouts that are due now, in this process and in the background. For code that notices a
   * passed deadline before its message arrives.
   */
  wake(refs: readonly TimeoutRef[], cause: 'passive' | 'operator' = 'passive'): void {
    this.deps.wake(refs, cause);
  }
}

/** What names no trace continues the span that is active here. A group commits in the context of another caller. */
function withTrace(requests: readonly ScheduleTimeout[]): readonly ScheduleTimeout[] {
  const traceparent = activeTraceparent();
  return traceparent === undefined ? requests : requests.map((request) => ({ traceparent, ...request }));
}

/** One row per (kind, key), in one global order, so that two callers lock them in the same order. */
function lastOfEach<T extends TimeoutRef>(requests: readonly T[]): T[] {
  const byKey = new Map(requests.map((request) => [nameOf(request), request]));
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, request]) => request);
}

function inParts<T>(rows: readonly T[]): (readonly T[])[] {
  return Array.from({ length: Math.ceil(rows.length / PART) }, (_, n) => rows.slice(n * PART, (n + 1) * PART));
}

function nameOf({ kind, key }: TimeoutRef): string {
  return `${kind}\n${key}`;
}

/** Kinds become routing keys and queue names. */
const KIND = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

const MAX_KEY = 200;

/** What a date may be in every place that it goes through; PostgreSQL ends later, ISO texts do not. */
const LAST_DUE_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const MAX_AFTER_MS = 10 * 366 * 24 * 3_600_000;

/** @throws InvalidTimeoutError naming every problem of every request. */
export function validateRequests(requests: readonly ScheduleTimeout[]): void {
  const problems = requests.flatMap((request) =>
    problemsOf(request).map((problem) => `${labelOf(request)}: ${problem}`),
  );
  if (problems.length > 0) throw new InvalidTimeoutError(problems);
}

export function isValidKind(kind: string): boolean {
  return KIND.test(kind);
}

function problemsOf({ kind, key, dueAt, afterMs }: ScheduleTimeout): string[] {
  const problems: string[] = [];
  if (!isValidKind(kind)) problems.push(`kind must match ${KIND.source}`);
  if (key.includes('\0')) problems.push('key must not contain NUL');
  if (key.length === 0 || key.length > MAX_KEY) problems.push(`key must have 1 to ${MAX_KEY} characters`);
  if ((dueAt === undefined) === (afterMs === undefined)) problems.push('give exactly one of dueAt and afterMs');
  if (dueAt && Number.isNaN(dueAt.getTime())) problems.push('dueAt must be a valid date');
  if (dueAt && dueAt.getTime() > LAST_DUE_MS) problems.push('dueAt must not be after the year 9999');
  if (afterMs !== undefined && !(Number.isFinite(afterMs) && afterMs >= 0 && afterMs <= MAX_AFTER_MS)) {
    problems.push(`afterMs must be a number from 0 to ${MAX_AFTER_MS} (got ${afterMs})`);
  }
  return problems;
}

function labelOf({ kind, key }: ScheduleTimeout): string {
  return `${kind}/${key}`.slice(0, 120);
}

/** SQL of a TimeoutRecord. The alias of the table is `t`. */
export const TIMEOUT_RECORD = `t.kind, t.key, t.generation::text, t.due_at AS "dueAt", t.next_attempt_at AS "nextAttemptAt",
  t.attempts, t.state, t.last_error AS "lastError", t.payload`;

/** SQL of a recursive CTE `kinds` that ends with null: a loose scan of the index, as many steps as there are kinds. */
export function pendingKinds(schema: string): string {
  return `kinds AS (
        SELECT min(kind) AS kind FROM ${schema}.timeout WHERE state = 'pending'
        UNION ALL
        SELECT (SELECT min(t.kind) FROM ${schema}.timeout t WHERE t.state = 'pending' AND t.kind > kinds.kind)
          FROM kinds WHERE kinds.kind IS NOT NULL)`;
}

/** SQL of scheduling and look-up, one statement each. Locking and settling are in SettlementQueries. */
export class TimeoutQueries {
  readonly schedule: string;
  readonly lock: string;
  readonly cancel: string;
  readonly find: string;
  readonly pending: string;
  readonly kinds: string;
  readonly upcoming: string;

  constructor(readonly schema: string) {
    this.schedule = `
      WITH request AS (
        SELECT kind, key, payload::jsonb AS payload, traceparent, outbox_id,
               COALESCE(due_at, now() + after_ms * interval '1 millisecond') AS due_at
          FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::float8[], $5::text[], $6::text[], $7::uuid[])
            AS r(kind, key, due_at, after_ms, payload, traceparent, outbox_id)),
      scheduled AS (
        INSERT INTO ${schema}.timeout AS t (kind, key, generation, due_at, next_attempt_at, payload, traceparent)
        SELECT kind, key, nextval('${schema}.timeout_generation'), due_at, due_at, payload, traceparent FROM request
        ON CONFLICT (kind, key) DO UPDATE
           SET generation = EXCLUDED.generation, due_at = EXCLUDED.due_at, next_attempt_at = EXCLUDED.due_at,
               attempts = 0, lease = NULL, state = 'pending', last_error = NULL, asked_since = NULL,
               payload = EXCLUDED.payload, traceparent = EXCLUDED.traceparent
        RETURNING t.kind, t.key, t.generation, t.due_at),
      wake_up AS (
        ${insertWakeUps(schema, {
          from: 'scheduled s JOIN request r USING (kind, key) WHERE $9',
          id: 'outbox_id',
          dueAt: 's.due_at',
          horizonMs: '$8',
        })})
      SELECT kind, key, generation::text AS generation, due_at, due_at < now() + interval '${NEAR}' AS is_near FROM scheduled`;
    // In the order given, which is the one of schedule(): a plain DELETE locks as its plan happens to scan.
    this.lock = `
        SELECT t.kind, t.key, t.state, t.lease IS NOT NULL AND t.next_attempt_at > clock_timestamp() AS "isLookedUp"
          FROM ${schema}.timeout t
          JOIN unnest($1::text[], $2::text[]) WITH ORDINALITY AS r(kind, key, place) ON t.kind = r.kind AND t.key = r.key
         ORDER BY r.place FOR UPDATE OF t`;
    this.cancel = `
      WITH locked AS (${this.lock}),
      canceled AS (
        DELETE FROM ${schema}.timeout t USING locked l WHERE t.kind = l.kind AND t.key = l.key RETURNING 1)
      SELECT count(*)::int AS count FROM canceled`;
    this.find = `SELECT ${TIMEOUT_RECORD} FROM ${schema}.timeout t WHERE kind = $1 AND key = $2`;
    this.pending = `
      SELECT ${TIMEOUT_RECORD} FROM ${schema}.timeout t
       WHERE kind = $1 AND key > $2 AND state = 'pending' ORDER BY key LIMIT $3`;
    this.kinds = `WITH RECURSIVE ${pendingKinds(schema)} SELECT kind FROM kinds WHERE kind IS NOT NULL`;
    this.upcoming = `
      SELECT key, generation::text AS generation, (extract(epoch FROM next_attempt_at) * 1000)::float8 AS due_ms
        FROM ${schema}.timeout
       WHERE kind = $1 AND state = 'pending' AND next_attempt_at > now()
         AND next_attempt_at <= now() + $2 * interval '1 millisecond'
       ORDER BY next_attempt_at, key LIMIT $3`;
  }
}

/**
 * SQL: a field of the payloads of all timeouts of some kinds, pending or parked, where it is there. By the primary key alone.
 *
 * @param kinds SQL expression of a text[].
 */
export function payloadsOf(schema: string, kinds: string, field: string): string {
  return `SELECT about.payload->>'${field}' FROM ${schema}.timeout about
           WHERE about.kind = ANY(${kinds}) AND about.payload->>'${field}' IS NOT NULL`;
}

/**
 * SQL: true while there is a timeout of this kind and key, pending or parked. A single value and not EXISTS: the planner
 * turns that into a scan of the table where it takes it for small.
 *
 * @param kind,key SQL expressions.
 */
export function timeoutExists(schema: string, kind: string, key: string): string {
  return `((SELECT true FROM ${schema}.timeout present WHERE present.kind = ${kind} AND present.key = ${key}) IS TRUE)`;
}

/** Which timeouts an operator sees and moves; the others are not there for them. */
export interface TimeoutScope {
  /** What `condition` compares with; becomes a text[] parameter. */
  readonly values: readonly string[];
  /** SQL that is true for the timeouts inside. @param row alias of the timeout's row. @param values the parameter. */
  condition(row: string, values: string): string;
}

/** Everybody's operator. */
export const EVERY_TIMEOUT: TimeoutScope = {
  values: [],
  // Names the parameter, as PostgreSQL wants a type for each.
  condition: (_row, values) => `${values}::text[] IS NOT NULL`,
};
