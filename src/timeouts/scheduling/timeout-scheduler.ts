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
import { type DataSource, type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { activeTraceparent } from '../../tracing';
import { announceAfterCommit } from '../../outbox';
import { type ScheduleTimeout, type TimeoutCause, type TimeoutRecord, type TimeoutRef } from '../timeout';
import { type TimeoutQueries } from './timeout-queries';
import { validateRequests } from './validate-requests';

/**
 * Rows of one statement of ours. A long list takes several in its transaction, so that neither a statement nor the pause
 * between two, in which this process reads the answer and a busy machine lets it wait, comes near a limit.
 */
const PART = 5_000;

interface SchedulerDependencies {
  readonly dataSource: DataSource;
  readonly queries: TimeoutQueries;
  /** False where no broker waits for us (transport `none`): then no wake-up rows are written. */
  readonly writesWakeUps: boolean;
  readonly horizonMs: number;
  /** Throws when the kind is not known in this process. */
  checkKind(kind: string): void;
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
    for (const kind of new Set(requests.map((request) => request.kind))) this.deps.checkKind(kind);
  }

  private commit(requests: readonly ScheduleTimeout[], lockMs = 0): Promise<ScheduledTimeout[]> {
    // Made before the transaction begins, which may pause for 5 s only.
    const parts = inParts(lastOfEach(requests)).map((rows) => this.valuesOf(rows));
    return ownTransaction(this.deps.dataSource, (tx) => inTurn(parts, (values) => this.write(tx, values)), { lockMs });
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
    const scheduled = await tx.query<{ kind: string; key: string; generation: string; due_at: Date }[]>(
      this.deps.queries.schedule,
      values,
    );
    const result = scheduled.map(({ kind, key, generation, due_at }) => ({ kind, key, generation, dueAt: due_at }));
    announceAfterCommit(
      tx,
      result.map(({ dueAt, ...timeout }) => ({ ...timeout, dueAtMs: dueAt.getTime() })),
    );
    return result;
  }

  /** Cancels timeouts, including parked ones. Returns how many there were. */
  async cancel(refs: readonly TimeoutRef[], { tx }: TransactionOptions = {}): Promise<number> {
    if (refs.length === 0) return 0;
    const { dataSource } = this.deps;
    const distinct = lastOfEach(refs);
    if (tx) return joinTransaction(this.tables, tx, (own) => this.remove(own, distinct));
    const remove = async (own: EntityManager, part: readonly TimeoutRef[]) => [await this.remove(own, part)];
    const counts = await ownTransaction(dataSource, (own) => inTurn(inParts(distinct), (part) => remove(own, part)));
    return counts.reduce((total, count) => total + count, 0);
  }

  /**
   * Locks timeouts in the order in which all others lock them. For a transaction that changes several of them one by one.
   *
   * @internal
   */
  async lock(tx: EntityManager, refs: readonly TimeoutRef[]): Promise<void> {
    const distinct = lastOfEach(refs);
    await tx.query(this.deps.queries.lock, [distinct.map((ref) => ref.kind), distinct.map((ref) => ref.key)]);
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

async function inTurn<T, R>(parts: readonly T[], run: (part: T) => Promise<readonly R[]>): Promise<R[]> {
  const results: (readonly R[])[] = [];
  for (const part of parts) results.push(await run(part));
  return results.flat();
}

function nameOf({ kind, key }: TimeoutRef): string {
  return `${kind}\n${key}`;
}
