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
} from '../../database';
import { present } from '../../errors';
import { type Clock } from '../../clock';
import { inSpan, messagingAttributes } from '../../tracing';
import { type HandlerAdapter, withinRunLimit } from '../handlers/handler-adapter';
import {
  type BatchSelection,
  logParked,
  type BusyRow,
  type LockedRow,
  toDueTimeout,
  resolveOutcome,
  type SettledBatch,
  type TimeoutObserver,
} from '../model/outcomes';
import { type DueTimeout, type TimeoutCause, type SettlementRun, type TimeoutOutcome } from '../model/timeout';
import { type DatabaseClock } from './database-clock';
import { type OutcomeRecorder, type SettlementQueries } from './outcome-recorder';

interface SettlerDependencies {
  readonly kind: string;
  readonly dataSource: DataSource;
  readonly queries: SettlementQueries;
  readonly recorder: OutcomeRecorder;
  readonly handler: HandlerAdapter;
  readonly observer: Pick<TimeoutObserver, 'settled'>;
  readonly databaseClock: Pick<DatabaseClock, 'nowMs'>;
  readonly maxAttempts: number;
  /** How long a call of the handler may take. */
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
      return this.traced(due, async () => this.record(tx, rows, due, await this.handle(due, tx, run), early));
    };
    return this.transaction(work, () => isBatch);
  }

  /** Whether the database answers at this moment. */
  isDatabaseAvailable(): Promise<boolean> {
    return ownQuery(this.deps.dataSource, 'SELECT 1').then(
      () => true,
      () => false,
    );
  }

  /** Records that handling this row failed. */
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
      return this.record(tx, [locked], [due], [outcome], []);
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
    rows: readonly LockedRow[],
    due: readonly DueTimeout[],
    outcomes: readonly TimeoutOutcome[],
    early: readonly LockedRow[],
  ): Promise<SettledBatch> {
    const lease = uuidv7();
    const recorded = rows.map((row, index) => {
      const outcome = present(outcomes[index], `an outcome for timeout "${row.key}"`);
      const budget = { attempts: row.attempts, maxAttempts: this.deps.maxAttempts, random: Math.random() };
      return { row, outcome: resolveOutcome(outcome, budget) };
    });
    await this.deps.recorder.record(tx, recorded, lease);
    const settled = due.map((timeout, index) => {
      const { outcome } = present(recorded[index], `a row for timeout "${timeout.key}"`);
      return { due: timeout, outcome };
    });
    return { settled, early, lease };
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
    const { dataSource, idleTimeoutMs: idleMs, statementTimeoutMs: statementMs } = this.deps;
    let isContended = this.patience.isShort;
    for (let tries = 1; ; tries++) {
      const lockMs = this.patience.limitMs();
      try {
        const limits = { statementMs, lockMs, idleMs };
        // The handler of one kind may need a table that nobody else needs.
        return await ownTransaction(dataSource, (tx) => work(tx, { isContended }), { ...limits, isAside: true });
      } catch (error) {
        isContended = isLockTimeout(error);
        if (isContended) this.patience.waitedInVain(lockMs);
        const conflictTries = isRetryableConflict(error) ? CONFLICT_TRIES : 1;
        if (tries >= (isContended && hasOthers() ? LOCK_TRIES : conflictTries)) throw error;
      }
    }
  }
}
