import { Logger } from '@nestjs/common';
import { type DataSource, type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import {
  isLockTimeout,
  isRetryableConflict,
  type LockPatience,
  lockPatienceOf,
  ownQuery,
  ownTransaction,
  storableText,
} from '../../database';
import { type Clock } from '../../clock';
import { inSpan, messagingAttributes } from '../../tracing';
import { announceAfterCommit, type Outbox, type OutboxEntry, wakeUpBody } from '../../outbox';
import { type HandlerAdapter, withinRunLimit } from '../handlers/handler-adapter';
import {
  type BatchSelection,
  logParked,
  type BusyRow,
  type LockedRow,
  toDueTimeout,
  resolveOutcome,
  type SettledBatch,
  type SettledRow,
  type TimeoutObserver,
  type ResolvedOutcome,
  type DueTimeout,
  type TimeoutCause,
  type SettlementRun,
  type TimeoutOutcome,
} from '../model/timeout';
import { type DatabaseClock } from './received-wake-ups';

interface SettlerDependencies {
  readonly kind: string;
  /** Of the package itself, not of a host. */
  readonly isOwn: boolean;
  readonly dataSource: DataSource;
  readonly queries: SettlementQueries;
  readonly recorder: OutcomeRecorder;
  readonly handler: HandlerAdapter;
  readonly observer: Pick<TimeoutObserver, 'settled'>;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly maxAttempts: number;
  readonly runTimeoutMs: number;
  /** How long it may pause between two statements. */
  readonly idleTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** Why a row could not be settled, and when it is tried again. */
export interface Failure {
  readonly reason: string;
  /** If given, the failure is recorded only while this lease still holds. */
  readonly lease?: string | undefined;
  /** Whether it counts as an attempt. @default true */
  readonly counted?: boolean;
  /** Milliseconds until the next try. @default the back-off of the kind */
  readonly afterMs?: ((due: DueTimeout) => number) | undefined;
}

/** Which row of a kind; generation null: whichever is pending. */
interface TimeoutIdentity {
  readonly key: string;
  readonly generation: string | null;
}

/** A second and a third try for a deadlock or a serialization failure; more would hide a design fault. */
const CONFLICT_TRIES = 3;

/** A second try after a wait for a lock failed, for what can be settled without that lock. */
const LOCK_TRIES = 2;

/** Settles rows of one kind in one transaction: lock → handler → outcomes → commit. Then it tells the observers. */
export class TimeoutSettler {
  private readonly logger: Logger;
  private readonly patience: LockPatience;

  constructor(
    private readonly deps: SettlerDependencies,
    private readonly clock: Clock,
  ) {
    this.logger = new Logger(`Timeouts:${deps.kind}`);
    this.patience = lockPatienceOf(deps.dataSource);
  }

  /** @throws what the handler or the database threw; then nothing was written. */
  settle(selection: BatchSelection): Promise<SettledBatch> {
    let isBatch = false;
    const work = async (tx: EntityManager, run: SettlementRun): Promise<SettledBatch> => {
      const { due: rows, early = [] } = await selection.lock(tx);
      isBatch = rows.length > 1;
      const due = rows.map((row) => this.dueTimeout(row, selection));
      if (due.length === 0) return { settled: [], early, lease: '' };
      return this.traced(due, async () => this.record(tx, due, await this.handle(due, tx, run), early));
    };
    return this.transaction(work, () => isBatch);
  }

  isDatabaseAvailable(): Promise<boolean> {
    return ownQuery(this.deps.dataSource, 'SELECT 1').then(
      () => true,
      () => false,
    );
  }

  /** Whether a statement finds a row, outside of any transaction. @throws if the database does not answer. */
  async findsAny(sql: string, values: unknown[]): Promise<boolean> {
    return (await ownQuery<unknown[]>(this.deps.dataSource, sql, values)).length > 0;
  }

  async fail(
    failed: TimeoutIdentity,
    cause: TimeoutCause,
    { reason, lease, counted = true, afterMs }: Failure,
  ): Promise<void> {
    const { kind, queries } = this.deps;
    const identity = [kind, [failed.key], [failed.generation]];
    await this.transaction(async (tx) => {
      const rows = await (lease === undefined
        ? tx.query<BusyRow[]>(queries.lockByKeys, identity)
        : tx.query<BusyRow[]>(queries.lockLeased, [...identity, [lease]]));
      const locked = rows.find((row) => !row.busy);
      if (!locked) return { settled: [], early: [], lease: '' };
      const due = toDueTimeout(kind, locked, cause);
      const outcome = { type: 'retry', reason, counted, ...(afterMs && { afterMs: afterMs(due) }) } as const;
      return this.record(tx, [due], [outcome], []);
    });
  }

  private dueTimeout(row: LockedRow, selection: BatchSelection): DueTimeout {
    const { answers } = selection;
    const due = toDueTimeout(this.deps.kind, row, selection.causeOf(row));
    return answers?.has(row.key) ? { ...due, answer: answers.get(row.key) } : due;
  }

  /** The span links the traces in which these timeouts were scheduled: the wait between may last for days. */
  private traced<T>(due: readonly DueTimeout[], work: () => Promise<T>): Promise<T> {
    const { kind } = this.deps;
    const attributes = { ...messagingAttributes('process', { count: due.length }), 'order_timeout.kind': kind };
    const causes = due.map(({ traceparent }) => traceparent);
    return inSpan(`settle ${kind}`, { kind: 'consumer', attributes, causes }, work);
  }

  private handle(due: readonly DueTimeout[], tx: EntityManager, run: SettlementRun): Promise<TimeoutOutcome[]> {
    const { kind, runTimeoutMs: ms, handler } = this.deps;
    const keys = due.map(({ key }) => key);
    return withinRunLimit(this.clock, tx, { kind, keys, ms }, () => handler.handleBatch(due, tx, run));
  }

  private async record(
    tx: EntityManager,
    due: readonly DueTimeout[],
    outcomes: readonly TimeoutOutcome[],
    early: readonly LockedRow[],
  ): Promise<SettledBatch> {
    const lease = uuidv7();
    const settled = due.map((timeout, index) => ({ due: timeout, outcome: this.resolve(timeout, outcomes[index]) }));
    await this.deps.recorder.record(tx, settled, lease);
    return { settled, early, lease };
  }

  private resolve({ key, attempts }: DueTimeout, outcome: TimeoutOutcome | undefined): ResolvedOutcome {
    if (!outcome) throw new Error(`the handler of "${this.deps.kind}" has given no outcome for "${key}"`);
    return resolveOutcome(outcome, { attempts, maxAttempts: this.deps.maxAttempts, random: Math.random() });
  }

  private async transaction(
    work: (tx: EntityManager, run: SettlementRun) => Promise<SettledBatch>,
    hasOthers?: () => boolean,
  ): Promise<SettledBatch> {
    const batch = await this.withRetries(work, hasOthers);
    this.deps.observer.settled(this.deps.kind, batch.settled, this.deps.databaseClock.nowMs());
    logParked(this.logger, batch);
    return batch;
  }

  /** @param hasOthers whether something can be settled without the lock that was not free. */
  private async withRetries<T>(
    work: (tx: EntityManager, run: SettlementRun) => Promise<T>,
    hasOthers = (): boolean => false,
  ): Promise<T> {
    const { dataSource, isOwn, idleTimeoutMs: idleMs, statementTimeoutMs: statementMs } = this.deps;
    let isContended = this.patience.isShort;
    for (let tries = 1; ; tries++) {
      const lockMs = this.patience.limitMs();
      try {
        const limits = { statementMs, lockMs, idleMs };
        return await ownTransaction(dataSource, (tx) => work(tx, { isContended }), { ...limits, isAside: !isOwn });
      } catch (error) {
        isContended = isLockTimeout(error);
        if (isContended) this.patience.waitedInVain(lockMs);
        const conflictTries = isRetryableConflict(error) ? CONFLICT_TRIES : 1;
        if (tries >= (isContended && hasOthers() ? LOCK_TRIES : conflictTries)) throw error;
      }
    }
  }
}

interface RecorderDependencies {
  readonly kind: string;
  readonly queries: SettlementQueries;
  readonly outbox: Outbox;
  readonly leaseMs: number;
  readonly writesWakeUps: boolean;
}

export interface NextWakeUp {
  readonly key: string;
  readonly generation: string;
  readonly due_ms: number;
}

type OfType<T extends ResolvedOutcome['type']> = SettledRow & { outcome: Extract<ResolvedOutcome, { type: T }> };

/** Writes outcomes into the timeout table in the transaction of the effect: at most one statement per outcome type. */
export class OutcomeRecorder {
  constructor(private readonly deps: RecorderDependencies) {}

  /** @param lease token that fences the second call of the handler. */
  async record(tx: EntityManager, recorded: readonly SettledRow[], lease: string): Promise<void> {
    const { kind, queries } = this.deps;
    const done = ofType(recorded, 'done');
    if (done.length > 0) await tx.query(queries.finish, [kind, ...identities(done)]);
    // The lease counts from clock_timestamp(), because the transaction may have begun long before the look-up.
    const leased = ofType(recorded, 'look-up');
    if (leased.length > 0) await tx.query(queries.lease, [kind, ...identities(leased), lease, this.deps.leaseMs]);
    await this.retry(tx, ofType(recorded, 'retry'));
    await this.reschedule(tx, ofType(recorded, 'reschedule'));
    await this.park(tx, ofType(recorded, 'park'));
  }

  /** Writes a new wake-up for each of these rows, whose next time is too far ahead for the process to hold the delivery. */
  async wakeLater(tx: EntityManager, next: readonly NextWakeUp[]): Promise<void> {
    if (next.length === 0) return;
    const { kind, outbox } = this.deps;
    announceAfterCommit(
      tx,
      next.map(({ key, generation, due_ms: dueAtMs }) => ({ kind, key, generation, dueAtMs })),
    );
    if (!this.deps.writesWakeUps) return;
    await outbox.append(
      tx,
      next.map(({ key, generation, due_ms: dueMs }) => ({
        id: uuidv7(),
        route: 'wake-up' as const,
        routingKey: kind,
        body: wakeUpBody(kind, key, generation, dueMs),
        deliverAtMs: Math.ceil(dueMs),
      })),
    );
  }

  private async retry(tx: EntityManager, retried: readonly OfType<'retry'>[]): Promise<void> {
    if (retried.length === 0) return;
    const [rows] = await tx.query<[NextWakeUp[], number]>(this.deps.queries.retry, [
      this.deps.kind,
      ...identities(retried),
      retried.map(({ outcome }) => outcome.attempts),
      retried.map(({ outcome }) => storableReason(outcome.reason)),
      retried.map(({ outcome }) => outcome.afterMs),
      retried.map(({ outcome }) => outcome.answers ?? null),
    ]);
    await this.wakeLater(tx, rows);
  }

  private async reschedule(tx: EntityManager, moved: readonly OfType<'reschedule'>[]): Promise<void> {
    if (moved.length === 0) return;
    const [rows] = await tx.query<[NextWakeUp[], number]>(this.deps.queries.reschedule, [
      this.deps.kind,
      ...identities(moved),
      moved.map(({ outcome }) => outcome.dueAt.toISOString()),
    ]);
    await this.wakeLater(tx, rows);
  }

  private async park(tx: EntityManager, parked: readonly OfType<'park'>[]): Promise<void> {
    if (parked.length === 0) return;
    const { kind, queries, outbox } = this.deps;
    const [rows] = await tx.query<[{ key: string; occurred_at: Date }[], number]>(queries.park, [
      kind,
      ...identities(parked),
      parked.map(({ outcome }) => outcome.attempts),
      parked.map(({ outcome }) => storableReason(outcome.reason)),
    ]);
    const parkedAt = new Map(rows.map((row) => [row.key, row.occurred_at]));
    await outbox.append(
      tx,
      parked.flatMap((item) => {
        const occurredAt = parkedAt.get(item.due.key);
        return occurredAt ? [parkedEvent(kind, item, occurredAt)] : [];
      }),
    );
  }
}

function parkedEvent(kind: string, { due, outcome }: OfType<'park'>, occurredAt: Date): OutboxEntry {
  const id = uuidv7();
  const { key, generation, traceparent } = due;
  const { attempts, reason } = outcome;
  const event = { id, type: 'timeout.parked', version: 1, occurredAt: occurredAt.toISOString() };
  return {
    id,
    route: 'event',
    routingKey: 'timeout.parked',
    body: { ...event, kind, key, generation, attempts, reason: storableReason(reason) },
    traceparent,
  };
}

function ofType<T extends ResolvedOutcome['type']>(recorded: readonly SettledRow[], type: T): OfType<T>[] {
  return recorded.filter((item): item is OfType<T> => item.outcome.type === type);
}

function identities(recorded: readonly SettledRow[]): [string[], string[]] {
  return [recorded.map(({ due }) => due.key), recorded.map(({ due }) => due.generation)];
}

/**
 * SQL of locking and settling timeouts. `next_attempt_at` is both the back-off and the lease: leasing a row
 * moves it into the future, so nobody else sees it as due, and if the owner dies it is due again by itself.
 * Rows are looked up one by one, by the primary key: of a join with what is wanted the planner makes a scan of all that
 * is pending while the table has no statistics yet, 25 ms a batch at 20 000 rows instead of 1.
 */
export class SettlementQueries {
  readonly lockByKeys: string;
  readonly anyOverdue: string;
  readonly lockOverdue: string;
  readonly lockLeased: string;
  readonly lease: string;
  readonly finish: string;
  readonly retry: string;
  readonly reschedule: string;
  readonly park: string;

  constructor(schema: string) {
    const columns = `t.key, t.generation::text AS generation, t.due_at, t.attempts, t.payload, t.traceparent,
      CASE WHEN ${WAS_ASKED} THEN t.asked_since END AS asked_since, t.lease IS NOT NULL AS leased,
      (extract(epoch FROM t.next_attempt_at - now()) * 1000)::float8 AS remaining_ms`;
    // $1 kind, $2 keys, $3 generations (null: any). A row that another transaction holds is reported as busy.
    this.lockByKeys = lockSql(
      'w(key, generation)',
      'unnest($2::text[], $3::bigint[])',
      `SELECT ${columns} FROM ${schema}.timeout t
        WHERE t.kind = $1 AND t.key = w.key AND (w.generation IS NULL OR t.generation = w.generation) AND ${PENDING}`,
    );
    // $1 kind, $2 margin ms, $3/$4 after (next_attempt_at, key), $5 before this time, $6 limit. The state is a literal, or a
    // generic plan could not use the partial index. Where it begins keeps dead rows from being read (see ScanWindow); a clock
    // that was set back must not put that into the future.
    const overdue = `
        FROM ${schema}.timeout t
       WHERE t.kind = $1 AND t.state = 'pending' AND t.next_attempt_at <= now() - $2 * interval '1 millisecond'
         AND (t.next_attempt_at, t.key) > (LEAST($3::timestamptz, now()), $4) AND t.next_attempt_at < $5::timestamptz
       ORDER BY t.next_attempt_at, t.key`;
    this.anyOverdue = `SELECT 1 ${overdue} LIMIT 1`;
    const place = 't.next_attempt_at::text AS cursor';
    this.lockOverdue = `SELECT ${columns}, ${place} ${overdue} LIMIT $6 FOR UPDATE OF t SKIP LOCKED`;
    this.lockLeased = lockSql(
      'w(key, generation, lease)',
      'unnest($2::text[], $3::bigint[], $4::uuid[])',
      `SELECT ${columns} FROM ${schema}.timeout t
        WHERE t.kind = $1 AND t.key = w.key AND t.generation = w.generation AND t.lease = w.lease AND ${PENDING}`,
    );
    // The rows are locked, so they stay where they are until the end of the transaction. The kind is asked for only
    // where they are looked up: of a second `t.kind = $1` a prepared plan makes a scan of the whole kind.
    const match = `
       WHERE t.ctid = ANY(ARRAY(
               SELECT (SELECT x.ctid FROM ${schema}.timeout x
                        WHERE x.kind = $1 AND x.key = m.key AND x.generation = m.generation)
                 FROM unnest($2::text[], $3::bigint[]) AS m(key, generation)))
         AND t.key = w.key AND t.generation = w.generation`;
    const returning = `
      RETURNING t.key, t.generation::text AS generation, (extract(epoch FROM t.next_attempt_at) * 1000)::float8 AS due_ms`;
    this.lease = `
      UPDATE ${schema}.timeout t
         SET lease = $4, next_attempt_at = clock_timestamp() + $5 * interval '1 millisecond',
             asked_since = ${ASKED_SINCE}
        FROM unnest($2::text[], $3::bigint[]) AS w(key, generation) ${match}`;
    this.finish = `
      DELETE FROM ${schema}.timeout t USING unnest($2::text[], $3::bigint[]) AS w(key, generation) ${match}`;
    this.retry = `
      UPDATE ${schema}.timeout t SET attempts = w.attempts, lease = NULL, last_error = w.reason,
             next_attempt_at = now() + w.after_ms * interval '1 millisecond',
             asked_since = CASE w.answers WHEN 'none' THEN ${UNASKED} WHEN 'clear' THEN ${CLEARLY} ELSE t.asked_since END
        FROM unnest($2::text[], $3::bigint[], $4::int[], $5::text[], $6::float8[], $7::text[])
          AS w(key, generation, attempts, reason, after_ms, answers) ${match} ${returning}`;
    this.reschedule = `
      UPDATE ${schema}.timeout t
         SET due_at = w.due_at, next_attempt_at = w.due_at, attempts = 0, lease = NULL, last_error = NULL, asked_since = NULL
        FROM unnest($2::text[], $3::bigint[], $4::timestamptz[]) AS w(key, generation, due_at) ${match} ${returning}`;
    this.park = `
      UPDATE ${schema}.timeout t SET state = 'parked', attempts = w.attempts, lease = NULL, last_error = w.reason
        FROM unnest($2::text[], $3::bigint[], $4::int[], $5::text[]) AS w(key, generation, attempts, reason) ${match}
      RETURNING t.key, now() AS occurred_at`;
  }
}

/** Written if a timeout could not be looked up, because its provider is paused. Like all times before the deadline, it does not count. */
const UNASKED = `'epoch'::timestamptz`;

/** After an hour, the waits between look-ups grow no longer. A second beginning must not make them short again. */
const CLEARLY = `GREATEST(t.asked_since, clock_timestamp() - interval '1 hour')`;

const WAS_ASKED = 't.asked_since >= t.due_at';

/**
 * Moved by the time in which the row was due and nobody took it. An instance of the release before moves `due_at` without
 * this time, which is then too early to be true.
 */
const ASKED_SINCE = `CASE WHEN ${WAS_ASKED}
  THEN t.asked_since + GREATEST(clock_timestamp() - t.next_attempt_at, interval '0') ELSE clock_timestamp() END`;

/** Not `= 'pending'`: of the partial index by due time the planner would read all rows of the kind. */
const PENDING = `t.state <> 'parked'`;

/** @param rows what finds one wanted row `w`. They are locked in the order of their keys, as everybody does. */
function lockSql(wanted: string, source: string, rows: string): string {
  return `
      WITH wanted AS MATERIALIZED (SELECT * FROM ${source} AS ${wanted} ORDER BY w.key),
      locked AS MATERIALIZED (
        SELECT r.* FROM wanted w, LATERAL (${rows} FOR UPDATE OF t SKIP LOCKED) r)
      SELECT locked.*, false AS busy FROM locked
      UNION ALL
      SELECT r.*, true AS busy FROM wanted w, LATERAL (${rows} OFFSET 0) r
       WHERE NOT EXISTS (SELECT 1 FROM locked l WHERE l.key = w.key)`;
}

/** Longest reason kept; a stack of a megabyte helps nobody. */
const MAX_LENGTH = 2_000;

/** What went wrong, as PostgreSQL can hold it: no NUL, and no half of an emoji where it was cut. */
export function storableReason(reason: string): string {
  return storableText(reason.slice(0, MAX_LENGTH));
}
