import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';

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
   * @internal Since when it is looked up without a result. Time in which nobody could look it up is left out: the kind was
   * paused, or the service was down. Absent before the first look-up.
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
      /** @internal The look-up was not made, so `askedSince` begins anew with the next one. */
      readonly unasked?: boolean;
    }
  | { readonly type: 'reschedule'; readonly dueAt: Date }
  | { readonly type: 'park'; readonly reason: string };

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
