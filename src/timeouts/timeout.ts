import { type JsonObject } from '../outbox';
import { type TimeoutState } from './timeout-status';

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
