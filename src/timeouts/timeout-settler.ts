import { ownTransaction } from '../events';
import { present } from '../errors';
import { type DataSource, type EntityManager } from 'typeorm';
import { uuidv7 } from 'uuidv7';
import { isRetryableConflict } from './database-away';
import { type HandlerAdapter } from './handler-adapter';
import { type BusyRow, type LockedRow, toDueTimeout } from './locked-timeout';
import { type OutcomeRecorder } from './outcome-recorder';
import { type ResolvedOutcome, resolveOutcome } from './resolve-outcome';
import { type SettlementQueries } from './settlement-queries';
import { type DueTimeout, type TimeoutCause } from './timeout';
import { type TimeoutOutcome } from './timeout-outcome';

interface SettlerPlan {
  readonly kind: string;
  readonly dataSource: DataSource;
  readonly queries: SettlementQueries;
  readonly recorder: OutcomeRecorder;
  readonly handler: HandlerAdapter;
  readonly maxAttempts: number;
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
  /** Fences the second call of those whose outcome is `ask`. */
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

/** Runs one transaction over a batch of one kind: lock → handler → outcomes → commit. */
export class TimeoutSettler {
  constructor(private readonly plan: SettlerPlan) {}

  /** @throws whatever the handler or the database threw; then nothing was written. */
  settle(
    select: (tx: EntityManager) => Promise<Selection>,
    causeOf: (row: LockedRow) => TimeoutCause,
    answers?: ReadonlyMap<string, unknown>,
  ): Promise<SettledBatch> {
    return this.transaction(async (tx) => {
      const { due: rows, early = [] } = await select(tx);
      const due = rows.map((row) => withAnswer(toDueTimeout(this.plan.kind, row, causeOf(row)), answers));
      const outcomes = due.length > 0 ? await this.plan.handler.settle(due, tx) : [];
      return this.record(tx, rows, due, outcomes, early);
    });
  }

  /** Whether the database answers at this moment. */
  isDatabaseThere(): Promise<boolean> {
    return this.plan.dataSource.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }

  /** Writes down that handling this row failed; with `lease` only while that lease still holds. */
  fail(
    failed: TimeoutIdentity,
    cause: TimeoutCause,
    { reason, lease, counted = true }: { reason: string; lease?: string; counted?: boolean },
  ): Promise<SettledBatch> {
    const { kind, queries } = this.plan;
    const identity = [kind, [failed.key], [failed.generation]];
    return this.transaction(async (tx) => {
      const rows = await (lease === undefined
        ? tx.query<BusyRow[]>(queries.lockByKeys, identity)
        : tx.query<BusyRow[]>(queries.lockLeased, [...identity, [lease]]));
      const locked = rows.find((row) => !row.busy);
      if (!locked) return { settled: [], early: [], lease: '' };
      const due = [toDueTimeout(kind, locked, cause)];
      return this.record(tx, [locked], due, [{ type: 'retry', reason, counted }], []);
    });
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
      const budget = { attempts: row.attempts, maxAttempts: this.plan.maxAttempts, random: Math.random() };
      return { row, outcome: resolveOutcome(outcome, budget) };
    });
    await this.plan.recorder.record(tx, recorded, lease);
    const settled = due.map((timeout, index) => {
      const { outcome } = present(recorded[index], `a row for timeout "${timeout.key}"`);
      return { due: timeout, outcome };
    });
    return { settled, early, lease };
  }

  private async transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ownTransaction(this.plan.dataSource, work);
      } catch (error) {
        if (tries >= CONFLICT_TRIES || !isRetryableConflict(error)) throw error;
      }
    }
  }
}

function withAnswer(due: DueTimeout, answers: ReadonlyMap<string, unknown> | undefined): DueTimeout {
  return answers?.has(due.key) ? { ...due, answer: answers.get(due.key) } : due;
}
