import { type EntityManager } from 'typeorm';
import { Logger } from '@nestjs/common';
import { assertNever } from '../../errors';
import { type JsonObject } from '../../outbox';
import { type TimeoutOutcome, type DueTimeout, type TimeoutCause } from './timeout';

/** What is written for a timeout, once budget and back-off are applied to what the handler said. */
export type ResolvedOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'look-up' }
  | {
      readonly type: 'retry';
      readonly attempts: number;
      readonly reason: string;
      readonly afterMs: number;
      /** @internal */
      readonly unasked?: boolean;
    }
  | { readonly type: 'reschedule'; readonly dueAt: Date }
  | { readonly type: 'park'; readonly attempts: number; readonly reason: string };

interface Budget {
  /** Counted failures before this one. */
  readonly attempts: number;
  readonly maxAttempts: number;
  /** In [0, 1), for the jitter. */
  readonly random: number;
}

/** Pure: counts the attempt where it counts, and parks when the budget is used up. */
export function resolveOutcome(outcome: TimeoutOutcome, budget: Budget): ResolvedOutcome {
  switch (outcome.type) {
    case 'done':
    case 'look-up':
    case 'reschedule':
      return outcome;
    case 'park':
      return { type: 'park', attempts: budget.attempts, reason: outcome.reason };
    case 'retry':
      return resolveRetry(outcome, budget);
    default:
      return assertNever(outcome);
  }
}

function resolveRetry(outcome: Extract<TimeoutOutcome, { type: 'retry' }>, budget: Budget): ResolvedOutcome {
  const { reason } = outcome;
  const attempts = outcome.counted ? budget.attempts + 1 : budget.attempts;
  if (outcome.counted && attempts >= budget.maxAttempts) return { type: 'park', attempts, reason };
  const afterMs = outcome.afterMs ?? backoffMs(Math.max(attempts, 1), budget.random);
  return { type: 'retry', attempts, reason, afterMs: Math.max(afterMs, 0), ...(outcome.unasked && { unasked: true }) };
}

/** Waits after the 1st, 2nd, … failure, milliseconds; the last one repeats. */
const BACKOFF_MS = [2_000, 5_000, 15_000, 60_000, 300_000] as const;

/** ± 20 %, so that what failed together does not come back together. */
const JITTER = 0.2;

/** How long to wait after `failures` (≥ 1) failures. `random` is in [0, 1). */
export function backoffMs(failures: number, random: number): number {
  const index = Math.min(Math.max(Math.trunc(failures), 1), BACKOFF_MS.length) - 1;
  const base = BACKOFF_MS[index] ?? BACKOFF_MS[0];
  return Math.round(base * (1 - JITTER + 2 * JITTER * random));
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

/** A row as the locking statements return it. */
export interface LockedRow {
  readonly key: string;
  readonly generation: string;
  readonly due_at: Date;
  readonly attempts: number;
  readonly payload: JsonObject;
  readonly traceparent: string | null;
  readonly asked_since?: Date | null;
  /** Milliseconds until it may be handled; zero or less: now. */
  readonly remaining_ms: number;
}

/** A wanted row; busy: another transaction holds it, so it was only read. */
export type BusyRow = LockedRow & { readonly busy: boolean; readonly leased: boolean };

/** Milliseconds after which a busy row is looked at again: the other transaction is likely to have ended. */
export const BUSY_MS = 200;

/** What the handler sees of a locked row. */
export function toDueTimeout(kind: string, row: LockedRow, cause: TimeoutCause): DueTimeout {
  const { key, generation, due_at: dueAt, attempts, payload, traceparent, asked_since: askedSince } = row;
  const optional = { ...(traceparent && { traceparent }), ...(askedSince && { askedSince }) };
  return { kind, key, generation, dueAt, attempts, payload, cause, ...optional };
}

/** Rows that a selection has locked. */
export interface LockedRows {
  /** Handled in this transaction. */
  readonly due: readonly LockedRow[];
  /** Not due yet, leased, or locked by another transaction. */
  readonly early?: readonly LockedRow[];
}

/** The rows of one transaction: those that wake-ups name, those whose look-ups were answered, or a page of overdue ones. */
export interface BatchSelection {
  /** Locks the rows. It runs the first statement of the transaction. */
  lock(tx: EntityManager): Promise<LockedRows>;
  /** What triggered the timeout of this row. */
  causeOf(row: LockedRow): TimeoutCause;
  /** Answers to look-ups, by key. */
  readonly answers?: ReadonlyMap<string, unknown>;
}

/** Nothing more happens to a parked timeout by itself: a person has to see it. */
export function logParked(logger: Logger, { settled }: SettledBatch): void {
  for (const { due, outcome } of settled) {
    if (outcome.type === 'park') logger.error(`parked "${due.key}": ${outcome.reason}`);
  }
}

/** Hears what the engine did, after the commit. For metrics and logs; must not throw. */
export interface TimeoutObserver {
  /** @param nowMs the database's time, epoch milliseconds: lateness is `nowMs - due.dueAt`. */
  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void;
  /** Nothing could be written, because the database did not answer. */
  unavailable(kind: string, error: unknown): void;
  /** A message that could not be read was parked. */
  undecodable(kind: string): void;
  /** The sweep took over so many timeouts, though the message path is up: their wake-ups were lost or are stalled. */
  wakeUpsMissed(kind: string, count: number): void;
  /** The delay transport in use changed. */
  transport(name: string): void;
}

/** Several observers as one. One that throws is logged: what it was told of is committed and has to go on. */
export class TimeoutObservers implements TimeoutObserver {
  private readonly logger = new Logger(TimeoutObservers.name);
  private readonly observers = new Set<Partial<TimeoutObserver>>();

  add(observer: Partial<TimeoutObserver>): void {
    this.observers.add(observer);
  }

  settled(kind: string, rows: readonly SettledRow[], nowMs: number): void {
    this.tell((observer) => observer.settled?.(kind, rows, nowMs));
  }

  unavailable(kind: string, error: unknown): void {
    this.tell((observer) => observer.unavailable?.(kind, error));
  }

  undecodable(kind: string): void {
    this.tell((observer) => observer.undecodable?.(kind));
  }

  wakeUpsMissed(kind: string, count: number): void {
    this.tell((observer) => observer.wakeUpsMissed?.(kind, count));
  }

  transport(name: string): void {
    this.tell((observer) => observer.transport?.(name));
  }

  private tell(what: (observer: Partial<TimeoutObserver>) => void): void {
    for (const observer of this.observers) {
      try {
        what(observer);
      } catch (error) {
        this.logger.error('an observer threw', error instanceof Error ? error.stack : String(error));
      }
    }
  }
}
