import {
  isLockTimeout,
  isRetryableConflict,
  type LockPatience,
  lockPatienceOf,
  ownQuery,
  ownTransaction,
} from '../../database';
import { present } from '../../errors';
import { type DataSource, type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { type Clock } from '../../clock';
import { type HandlerAdapter } from '../handlers/handler-adapter';
import { type BusyRow, type LockedRow, toDueTimeout } from './locked-timeout';
import { type OutcomeRecorder } from './outcome-recorder';
import { type ResolvedOutcome, resolveOutcome } from './resolve-outcome';
import { withinRunLimit } from '../handlers/run-limit';
import { type SettlementQueries } from './settlement-queries';
import { type DueTimeout, type TimeoutCause } from '../timeout';
import { type SettlementRun } from '../handlers/timeout-handler';
import { type TimeoutOutcome } from '../handlers/timeout-outcome';

interface SettlerDependencies {
  readonly kind: string;
  readonly dataSource: DataSource;
  readonly queries: SettlementQueries;
  readonly recorder: OutcomeRecorder;
  readonly handler: HandlerAdapter;
  readonly maxAttempts: number;
  /** How long a call of the handler may take. */
  readonly runTimeoutMs: number;
  /** How long it may pause between two statements. */
  readonly idleTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** Why a row is not settled, and when it comes again. */
export interface Failure {
  readonly reason: string;
  /** Writes it down only while this lease still holds. */
  readonly lease?: string | undefined;
  /** Whether it counts as an attempt. @default true */
  readonly counted?: boolean;
  /** Milliseconds until the next try. @default the back-off of the kind */
  readonly afterMs?: ((due: DueTimeout) => number) | undefined;
}

/** One timeout that a transaction has dealt with. */
export interface SettledRow {
  readonly due: DueTimeout;
  readonly outcome: ResolvedOutcome;
}

/** What a committed transaction did. */
export interface SettledBatch {
  readonly settled: readonly SettledRow[];
  /** Rows that were not due yet, or that another transaction holds. */
  readonly early: readonly LockedRow[];
  /** Fences the second call of those whose outcome is `look-up`. */
  readonly lease: string;
}

/** Which row of a kind; generation null: whichever is pending. */
export interface TimeoutIdentity {
  readonly key: string;
  readonly generation: string | null;
}

/** Rows chosen and locked inside the transaction. */
export interface Selection {
  readonly due: readonly LockedRow[];
  readonly early?: readonly LockedRow[];
}

/** A second and a third try for a deadlock or a serialization failure; more would hide a design fault. */
const CONFLICT_TRIES = 3;
/** A second try after a wait for a lock failed, for what can be settled without that lock. */
const LOCK_TRIES = 2;

/** Runs one transaction over a batch of one kind: lock → handler → outcomes → commit. */
export class TimeoutSettler {
  private readonly patience: LockPatience;

  constructor(
    private readonly deps: SettlerDependencies,
    private readonly clock: Clock,
  ) {
    this.patience = lockPatienceOf(deps.dataSource);
  }

  /** @throws whatever the handler or the database threw; then nothing was written. */
  settle(
    select: (tx: EntityManager) => Promise<Selection>,
    causeOf: (row: LockedRow) => TimeoutCause,
    answers?: ReadonlyMap<string, unknown>,
  ): Promise<SettledBatch> {
    let isBatch = false;
    const work = async (tx: EntityManager, run: SettlementRun): Promise<SettledBatch> => {
      const { due: rows, early = [] } = await select(tx);
      isBatch = rows.length > 1;
      const due = rows.map((row) => withAnswer(toDueTimeout(this.deps.kind, row, causeOf(row)), answers));
      const outcomes = due.length > 0 ? await this.handle(due, tx, run) : [];
      return this.record(tx, rows, due, outcomes, early);
    };
    return this.transaction(work, () => isBatch);
  }

  /** Whether the database answers at this moment. */
  isDatabaseThere(): Promise<boolean> {
    return ownQuery(this.deps.dataSource, 'SELECT 1').then(
      () => true,
      () => false,
    );
  }

  /** Writes down that handling this row failed. */
  fail(
    failed: TimeoutIdentity,
    cause: TimeoutCause,
    { reason, lease, counted = true, afterMs }: Failure,
  ): Promise<SettledBatch> {
    const { kind, queries } = this.deps;
    const identity = [kind, [failed.key], [failed.generation]];
    return this.transaction(async (tx) => {
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

  /** @param hasOthers whether something can be settled without the lock that was not free. */
  private async transaction<T>(
    work: (tx: EntityManager, run: SettlementRun) => Promise<T>,
    hasOthers = (): boolean => false,
  ): Promise<T> {
    const { dataSource, idleTimeoutMs: idleMs, statementTimeoutMs: statementMs } = this.deps;
    let isContended = this.patience.isShort;
    for (let tries = 1; ; tries++) {
      const lockMs = this.patience.limitMs;
      try {
        return await ownTransaction(dataSource, (tx) => work(tx, { isContended }), { statementMs, lockMs, idleMs });
      } catch (error) {
        isContended = isLockTimeout(error);
        if (isContended) this.patience.waitedInVain(lockMs);
        const conflictTries = isRetryableConflict(error) ? CONFLICT_TRIES : 1;
        if (tries >= (isContended && hasOthers() ? LOCK_TRIES : conflictTries)) throw error;
      }
    }
  }
}

function withAnswer(due: DueTimeout, answers: ReadonlyMap<string, unknown> | undefined): DueTimeout {
  return answers?.has(due.key) ? { ...due, answer: answers.get(due.key) } : due;
}
