import { type EntityManager } from 'typeorm';
import { z } from 'zod';
import { Logger } from '@nestjs/common';
import { type JsonObject } from '../../outbox';
import { assertNever, parseJson } from '../../errors';

/** What identifies a timeout: one pending row per (kind, key). */
export interface TimeoutRef {
  /** What shall happen, e.g. `order.payment`; one handler per kind. Letters, digits, `.`, `_`, `-`; at most 100. */
  readonly kind: string;
  /** Whom it is about, e.g. the order id; at most 200 characters. */
  readonly key: string;
}

/** A request to be woken. Scheduling a (kind, key) again replaces its deadline and its payload. */
export interface ScheduleTimeout extends TimeoutRef {
  /** Absolute deadline, or `afterMs` from the database's now. Exactly one of the two. Past means at once. */
  readonly dueAt?: Date;
  /** Milliseconds from the database's `now()`; 0 … ten years. */
  readonly afterMs?: number;
  readonly payload?: JsonObject;
  /** W3C traceparent to continue when it fires. @default that of the active OpenTelemetry span */
  readonly traceparent?: string;
}

/** Which of the clocks, or who, brought a timeout to its handler. */
export type TimeoutCause = 'message' | 'sweep' | 'passive' | 'operator';

/** A timeout that is due, as its handler sees it. `Answer` is what the handler's own `lookUp` found out. */
export interface DueTimeout<Answer = unknown> extends TimeoutRef {
  /** Fences old messages: every (re)scheduling takes a number that was never used before. Decimal digits. */
  readonly generation: string;
  readonly dueAt: Date;
  /** Counted failures so far. */
  readonly attempts: number;
  readonly payload: JsonObject;
  readonly cause: TimeoutCause;
  /** W3C traceparent of the transaction that scheduled it. */
  readonly traceparent?: string;
  /**
   * @internal Since when it is looked up without a clear answer, or an hour ago after one. Time in which nobody could look
   * it up is left out: the kind was paused, or the service was down. Absent before the first look-up.
   */
  readonly askedSince?: Date;
  /** Present in the second call of `handleBatch`, after `lookUp`. */
  readonly answer?: Answer;
}

/** A pending or parked timeout, as it is listed. */
export interface TimeoutRecord extends TimeoutRef {
  readonly generation: string;
  readonly dueAt: Date;
  readonly nextAttemptAt: Date;
  readonly attempts: number;
  readonly state: TimeoutState;
  readonly lastError: string | null;
  readonly payload: JsonObject;
}

/**
 * The status of a timeout. A timeout that is done has no row.
 * - `pending`: waits for its time, or for a worker.
 * - `leased`: its look-up is running. Due again by itself when the lease ends.
 * - `parked`: set aside; only a person makes it go on.
 */
export const TIMEOUT_STATUSES = ['pending', 'leased', 'parked'] as const;

export type TimeoutStatus = (typeof TIMEOUT_STATUSES)[number];

/** The state that the row stores. A lease is a column of its own. */
type TimeoutState = Exclude<TimeoutStatus, 'leased'>;

/** What the database has of a timeout. `absent`: no row. */
export type TimeoutPresence = TimeoutStatus | 'absent';

/** What is done to a timeout: what a caller asks for, what its handler says of it, and what an operator does. */
export type TimeoutAction = 'schedule' | 'cancel' | TimeoutOutcome['type'] | 'replay' | 'discard';

interface TimeoutStep {
  readonly from: readonly TimeoutPresence[];
  readonly to: TimeoutPresence;
}

const DUE = ['pending', 'leased'] as const satisfies readonly TimeoutPresence[];

/** @internal For tests and diagrams: what each action does. In a status that is not in `from`, it changes nothing. */
export const TIMEOUT_STEPS = {
  // Takes a new generation, so what is under way for the row before comes to nothing.
  schedule: { from: ['absent', 'pending', 'leased', 'parked'], to: 'pending' },
  cancel: { from: ['pending', 'leased', 'parked'], to: 'absent' },
  done: { from: DUE, to: 'absent' },
  'look-up': { from: DUE, to: 'leased' },
  retry: { from: DUE, to: 'pending' },
  reschedule: { from: DUE, to: 'pending' },
  park: { from: DUE, to: 'parked' },
  replay: { from: ['parked'], to: 'pending' },
  discard: { from: ['parked'], to: 'absent' },
} as const satisfies Record<TimeoutAction, TimeoutStep>;

/**
 * What a handler says of one due timeout. Expected outcomes are returned; throwing means `retry`, counted.
 * - `done`: the effect is in this transaction (or there is nothing to do); the row is deleted with it.
 * - `look-up`: remote facts are needed first. The row is leased, the transaction commits, `lookUp` runs outside any
 *   transaction, and `handleBatch` is called again with the answer. Only for handlers that have `lookUp`.
 * - `retry`: not now. Counted retries use up `maxAttempts`; `counted: false` is for waits that are nobody's
 *   fault (provider down, payment in flight) and never parks. Without `afterMs` the back-off of the kind applies.
 * - `reschedule`: the deadline was moved; wait for the new one.
 * - `park`: no retry can help; a person has to look.
 */
export type TimeoutOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'look-up' }
  | {
      readonly type: 'retry';
      readonly reason: string;
      readonly afterMs?: number;
      readonly counted: boolean;
      /** @internal What the look-up has brought. Absent: nothing clear. */
      readonly answers?: LookUpAnswers | undefined;
    }
  | { readonly type: 'reschedule'; readonly dueAt: Date }
  | { readonly type: 'park'; readonly reason: string };

/**
 * What a look-up has brought that leads to no end yet.
 * - `none`: it was not made, so `askedSince` begins anew with the next one.
 * - `clear`: everybody has answered, and only time is needed. The time without a clear answer begins anew, and failures are
 *   forgotten.
 */
export type LookUpAnswers = 'none' | 'clear';

/** The usual outcome. */
export const DONE: TimeoutOutcome = Object.freeze({ type: 'done' });

/** The outcome that leads to `lookUp`. */
export const LOOK_UP: TimeoutOutcome = Object.freeze({ type: 'look-up' });

/**
 * Handles one timeout at a time, each in a transaction of the engine unless its options say `batchSize`: what it writes
 * through `tx`, the end of the timeout and the outbox rows commit together or not at all. No remote call in here.
 */
export interface TimeoutHandlerSingle {
  handle(timeout: DueTimeout, tx: EntityManager): Promise<TimeoutOutcome | void>;
}

/** How a batch came to be run. */
export interface SettlementRun {
  /**
   * A run of these timeouts has just waited too long for a lock. Return an uncounted `retry` for those whose rows are locked
   * (`FOR UPDATE SKIP LOCKED` leaves them out): a batch that waits again is run one by one.
   */
  readonly isContended: boolean;
}

/**
 * Handles a micro-batch in one transaction, with the rows locked; the fast way. Must return one outcome per
 * timeout, in order. If it throws, the batch is split until the offender stands alone.
 */
export interface TimeoutHandlerBatch<Answer = unknown> {
  handleBatch(
    timeouts: readonly DueTimeout<Answer>[],
    tx: EntityManager,
    run: SettlementRun,
  ): Promise<TimeoutOutcome[]>;
  /**
   * Finds out remote facts about one timeout, outside any transaction, many at a time. Must obey `signal` (the
   * lease ends with it). A rejection is a counted retry; unknown answers belong into `Answer`.
   */
  lookUp?(timeout: DueTimeout, signal: AbortSignal): Promise<Answer>;
}

export type TimeoutHandlerInstance = TimeoutHandlerSingle | TimeoutHandlerBatch;

/** Whether it takes whole batches. A class that has both methods does. */
export function isBatchHandler(handler: TimeoutHandlerInstance): handler is TimeoutHandlerBatch {
  return 'handleBatch' in handler && typeof handler.handleBatch === 'function';
}

/** Generations are PostgreSQL bigints; a larger number would fail every batch that it is part of. */
const MAX_GENERATION = 2n ** 63n - 1n;

const storable = (text: string): boolean => !text.includes('\0');

/** What travels through the broker: ids only, never data. */
const wireSchema = z.object({
  kind: z.string().min(1).max(100),
  key: z.string().min(1).max(200).refine(storable, 'must not contain NUL'),
  generation: z
    .string()
    .regex(/^\d{1,19}$/)
    .refine((digits) => !/^\d{1,19}$/.test(digits) || BigInt(digits) <= MAX_GENERATION, 'is too large'),
  dueAt: z.number().int(),
});

/** A hint that a timeout may be due. */
export interface WakeUp {
  readonly key: string;
  /** Only this generation is meant; null: whichever is pending (asked for by a person or a read). */
  readonly generation: string | null;
  /** Epoch milliseconds by the database's clock. */
  readonly dueAtMs: number;
  readonly cause: TimeoutCause;
  /** The broker has delivered it before: the process that was asking about the timeout may be gone. */
  readonly isRedelivered?: boolean;
}

type DecodedWakeUp =
  | { readonly type: 'wake-up'; readonly kind: string; readonly wakeUp: WakeUp }
  | { readonly type: 'invalid'; readonly reason: string };

/** Reads a delivery's body. Never throws: what cannot be read is parked with the reason. */
export function decodeWakeUp(body: Buffer): DecodedWakeUp {
  const json = parseJson(body);
  if (json === undefined) return { type: 'invalid', reason: 'the body is not JSON' };
  const parsed = wireSchema.safeParse(json);
  if (!parsed.success) return { type: 'invalid', reason: z.prettifyError(parsed.error) };
  const { kind, key, generation, dueAt } = parsed.data;
  return { type: 'wake-up', kind, wakeUp: { key, generation, dueAtMs: dueAt, cause: 'message' } };
}

/**
 * Keys and generations to lock, without repetition: duplicate messages, or a read that wakes what a message is
 * about to, must not make the engine handle a row twice in one batch.
 */
export function identitiesOf(wakeUps: readonly WakeUp[]): { keys: string[]; generations: (string | null)[] } {
  const anyGeneration = new Set(wakeUps.filter(({ generation }) => generation === null).map(({ key }) => key));
  const distinct = new Map<string, [string, string | null]>();
  for (const { key, generation } of wakeUps) {
    const wanted = anyGeneration.has(key) ? null : generation;
    distinct.set(`${wanted ?? '*'} ${key}`, [key, wanted]);
  }
  const pairs = [...distinct.values()];
  return { keys: pairs.map(([key]) => key), generations: pairs.map(([, generation]) => generation) };
}

/**
 * How a wake-up ended. `finished`: what it led to is committed, or there was nothing to do.
 * `unwritten`: nothing could be written, so its source must keep it and try again.
 */
export type WakeUpResult = 'finished' | 'unwritten';

/** A wake-up in progress. `finish` tells its source how it ended. */
export interface WorkItem {
  readonly wakeUp: WakeUp;
  finish(result: WakeUpResult): void;
}

/**
 * Wake-ups are to arrive so much before they are due; the consumer holds them. What the broker needs for its hops, and we
 * for the hundreds that a delay queue hands out at once, is no lateness then (500 orders/s by the ladder: p99 76 ms without).
 */
export const HEAD_START_MS = 200;

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
      readonly answers?: LookUpAnswers | undefined;
    }
  | { readonly type: 'reschedule'; readonly dueAt: Date }
  | { readonly type: 'park'; readonly attempts: number; readonly reason: string };

interface Budget {
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
  const { reason, answers } = outcome;
  const before = answers === 'clear' ? 0 : budget.attempts;
  const attempts = outcome.counted ? before + 1 : before;
  if (outcome.counted && attempts >= budget.maxAttempts) return { type: 'park', attempts, reason };
  const afterMs = outcome.afterMs ?? backoffMs(Math.max(attempts, 1), budget.random);
  return { type: 'retry', attempts, reason, afterMs: Math.max(afterMs, 0), ...(answers && { answers }) };
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

export interface SettledBatch {
  readonly settled: readonly SettledRow[];
  /** Rows that were not due yet, or that another transaction holds. */
  readonly early: readonly LockedRow[];
  /** Fences the second call of those whose outcome is `look-up`. */
  readonly lease: string;
}

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

export function toDueTimeout(kind: string, row: LockedRow, cause: TimeoutCause): DueTimeout {
  const { key, generation, due_at: dueAt, attempts, payload, traceparent, asked_since: askedSince } = row;
  const optional = { ...(traceparent && { traceparent }), ...(askedSince && { askedSince }) };
  return { kind, key, generation, dueAt, attempts, payload, cause, ...optional };
}

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
