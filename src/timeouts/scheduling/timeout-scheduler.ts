import {
  GROUP_COMMIT,
  GroupCommit,
  isDatabaseUnavailable,
  ownQuery,
  ownTransaction,
  runTransactionOnce,
} from '../../database';
import { type DataSource, type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { announceAfterCommit } from '../../outbox';
import { type ScheduleTimeout, type TimeoutCause, type TimeoutRecord, type TimeoutRef } from '../timeout';
import { type TimeoutQueries } from './timeout-queries';
import { validateRequests } from './validate-requests';

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

/** Asks for, moves, calls off and looks up timeouts. */
export class TimeoutScheduler {
  private readonly groups: GroupCommit<readonly ScheduleTimeout[], ScheduledTimeout[]>;

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
   * Schedules, or reschedules where (kind, key) is already pending or parked, in the caller's transaction: the
   * timeouts exist if, and only if, it commits. One statement, however many. Of equal (kind, key) the last one counts.
   *
   * @throws InvalidTimeoutError naming every bad request; nothing is written then.
   */
  async schedule(tx: EntityManager, requests: readonly ScheduleTimeout[]): Promise<ScheduledTimeout[]> {
    if (requests.length === 0) return [];
    this.check(requests);
    return this.write(tx, requests);
  }

  /**
   * As `schedule`, for who has no transaction that the timeouts belong to: they are durable when it resolves. Callers at
   * the same time share a transaction, and what becomes of one does not depend on the others.
   *
   * @throws InvalidTimeoutError naming every bad request; nothing is written then.
   */
  async scheduleAndCommit(requests: readonly ScheduleTimeout[]): Promise<ScheduledTimeout[]> {
    if (requests.length === 0) return [];
    this.check(requests);
    // Who brings more than a group may hold has a transaction of his own.
    return requests.length > GROUP_COMMIT.size ? this.commit(requests) : this.groups.run(requests);
  }

  private check(requests: readonly ScheduleTimeout[]): void {
    validateRequests(requests);
    for (const kind of new Set(requests.map((request) => request.kind))) this.deps.checkKind(kind);
  }

  private commit(requests: readonly ScheduleTimeout[]): Promise<ScheduledTimeout[]> {
    return ownTransaction(this.deps.dataSource, (tx) => this.write(tx, requests));
  }

  private async commitTogether(callers: readonly (readonly ScheduleTimeout[])[]): Promise<ScheduledTimeout[][]> {
    const { dataSource } = this.deps;
    const write = (tx: EntityManager): Promise<ScheduledTimeout[]> => this.write(tx, callers.flat());
    const scheduled = await runTransactionOnce(dataSource, write, GROUP_COMMIT.lockLimitMs);
    const byName = new Map(scheduled.map((timeout) => [nameOf(timeout), timeout]));
    return callers.map((requests) => lastOfEach(requests).flatMap((request) => byName.get(nameOf(request)) ?? []));
  }

  private async write(tx: EntityManager, requests: readonly ScheduleTimeout[]): Promise<ScheduledTimeout[]> {
    const rows = lastOfEach(requests);
    const scheduled = await tx.query<{ kind: string; key: string; generation: string; due_at: Date }[]>(
      this.deps.queries.schedule,
      [
        rows.map((row) => row.kind),
        rows.map((row) => row.key),
        rows.map((row) => row.dueAt?.toISOString() ?? null),
        rows.map((row) => row.afterMs ?? null),
        rows.map((row) => JSON.stringify(row.payload ?? {})),
        rows.map((row) => row.traceparent ?? null),
        rows.map(() => uuidv7()),
        this.deps.horizonMs,
        this.deps.writesWakeUps,
      ],
    );
    const result = scheduled.map(({ kind, key, generation, due_at }) => ({ kind, key, generation, dueAt: due_at }));
    announceAfterCommit(
      tx,
      result.map(({ dueAt, ...timeout }) => ({ ...timeout, dueAtMs: dueAt.getTime() })),
    );
    return result;
  }

  /** Calls timeouts off in the caller's transaction, parked ones included. Returns how many there were. */
  async cancel(tx: EntityManager, refs: readonly TimeoutRef[]): Promise<number> {
    if (refs.length === 0) return 0;
    const distinct = lastOfEach(refs);
    const [, count] = await tx.query<[unknown, number]>(this.deps.queries.cancel, [
      distinct.map((ref) => ref.kind),
      distinct.map((ref) => ref.key),
    ]);
    return count;
  }

  /** The pending or parked timeout, if there is one. */
  async find(ref: TimeoutRef): Promise<TimeoutRecord | undefined> {
    const [row] = await ownQuery<TimeoutRecord[]>(this.deps.dataSource, this.deps.queries.find, [ref.kind, ref.key]);
    return row;
  }

  /** Lists pending timeouts of a kind by key; `after` is the last key of the page before. */
  pending(page: { kind: string; limit?: number; after?: string }): Promise<TimeoutRecord[]> {
    return ownQuery(this.deps.dataSource, this.deps.queries.pending, [page.kind, page.after ?? '', page.limit ?? 100]);
  }

  /**
   * Handles these timeouts in this process now, if they are due; returns at once. For reads and payments that notice
   * a passed deadline, and for operators.
   */
  wake(refs: readonly TimeoutRef[], cause: 'passive' | 'operator' = 'passive'): void {
    this.deps.wake(refs, cause);
  }
}

/** One row per (kind, key), in one global order, so that two callers lock them in the same order. */
function lastOfEach<T extends TimeoutRef>(requests: readonly T[]): T[] {
  const byKey = new Map(requests.map((request) => [nameOf(request), request]));
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, request]) => request);
}

function nameOf({ kind, key }: TimeoutRef): string {
  return `${kind}\n${key}`;
}
