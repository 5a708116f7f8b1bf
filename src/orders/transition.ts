import { type JsonObject, type OutboxEntry } from '../outbox';
import { canTransition, type OrderStatus } from './order-status';
import { type ClosingReason, type LockedOrder } from './order';
import { EVENT_OF_STATUS, type EventDetails, orderEvent } from './order-events';
import { type ActionContext } from './transition-cause';

/** One transition of one order, ready to be written. Status, history row, and event belong together. */
export interface Transition {
  readonly order: LockedOrder;
  readonly to: OrderStatus;
  readonly by: ActionContext;
  readonly reason: string | null;
  readonly evidence: JsonObject | null;
  /** Set for transitions toward an end without payment. */
  readonly closingReason: ClosingReason | null;
  readonly event: OutboxEntry;
}

interface Step {
  readonly by: ActionContext;
  readonly now: Date;
  readonly reason?: string;
  readonly evidence?: JsonObject;
  readonly closingReason?: ClosingReason;
  readonly details?: EventDetails;
}

/** Prepares a transition. Throws if the table does not allow it, which is a bug; it is never written. */
export function transition(order: LockedOrder, to: OrderStatus, step: Step): Transition {
  const type = EVENT_OF_STATUS[to];
  if (!type || !canTransition(order.status, to))
    throw new Error(`order ${order.id}: no transition from ${order.status} to ${to}`);
  const { by, now, reason = null, evidence = null, closingReason = order.closingReason } = step;
  const details = { reason, cause: by.cause, ...step.details };
  const event = orderEvent(type, order, order.version + 1, now, details, by.traceparent);
  return { order, to, by, reason, evidence, closingReason, event };
}
