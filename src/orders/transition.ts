import { type JsonObject, type OutboxEntry } from '../outbox';
import { canTransition, type OrderStatus } from './order-status';
import { type ClosingReason, type LockedOrder } from './order';
import { EVENT_OF_STATUS, type EventDetails, orderEvent } from './order-events';
import { type ActionContext } from './transition-cause';

/** One step of one order, ready to be written: status, history row and event belong together. */
export interface Transition {
  readonly order: LockedOrder;
  readonly to: OrderStatus;
  readonly by: ActionContext;
  readonly reason: string | null;
  readonly evidence: JsonObject | null;
  /** Set on the way to an end without payment. */
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

/** Prepares a step. Throws on one that the table does not know: a bug, and never written. */
export function transition(order: LockedOrder, to: OrderStatus, step: Step): Transition {
  const type = EVENT_OF_STATUS[to];
  if (!type || !canTransition(order.status, to))
    throw new Error(`order ${order.id}: no way from ${order.status} to ${to}`);
  const { by, now, reason = null, evidence = null, closingReason = order.closingReason } = step;
  const details = { reason, cause: by.cause, ...step.details };
  const event = orderEvent(type, order, order.version + 1, now, details, by.traceparent);
  return { order, to, by, reason, evidence, closingReason, event };
}
