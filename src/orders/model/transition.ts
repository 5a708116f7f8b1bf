import { uuidv7 } from 'uuidv7';
import { type JsonObject, type OutboxEntry } from '../../outbox';
import { storableText, type TransactionOptions } from '../../database';
import { type DueTimeout } from '../../timeouts';
import { activeTraceparent } from '../../tracing';
import { canTransition, type OrderStatus, type ClosingReason, type LockedOrder, type Order } from './order';

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

/** What caused a transition of an order: a caller, a timeout, or an operator. */
export const TRANSITION_CAUSES = ['api', 'command', 'message', 'sweep', 'passive', 'notify', 'operator'] as const;

export type TransitionCause = (typeof TRANSITION_CAUSES)[number];

/** Who acts. Stored in the history. */
export interface Actor {
  /** Name of the API key, the user, or the service. */
  readonly actor?: string | undefined;
  /** W3C traceparent of the request. */
  readonly traceparent?: string | undefined;
}

/** On whose behalf, and why, an action runs. Stored in the history. */
export interface ActionContext extends Actor {
  readonly cause: TransitionCause;
}

/**
 * The context of a call of the module API: what the caller says. Without a cause, it is the API; without a trace, the span
 * that is active. The name of the actor must not refuse a payment: a NUL in it, which PostgreSQL cannot hold, is left out,
 * and callers in plain JavaScript may pass null or a number.
 */
export function contextOf(by?: Partial<ActionContext> | null): ActionContext {
  const { cause, actor, traceparent } = by ?? {};
  const name = actor ?? undefined;
  return {
    cause: cause ?? 'api',
    actor: name === undefined ? undefined : storableText(String(name)),
    traceparent: traceparent ?? activeTraceparent(),
  };
}

/** The order events, by routing key. Their bodies are a public contract: add fields, but never rename them. */
export const ORDER_EVENT_TYPES = [
  'order.placed',
  'order.refused',
  'order.expiring',
  'order.closing',
  'order.closed',
  'order.cancelled',
  'order.paid',
  'order.payment_late',
  'order.refunding',
  'order.refunded',
] as const;

export type OrderEventType = (typeof ORDER_EVENT_TYPES)[number];

interface EventDetails {
  readonly [key: string]: string | number | boolean | null | undefined;
}

/** The event of each status. Statuses without an entry send none. */
export const EVENT_OF_STATUS: Partial<Record<OrderStatus, OrderEventType>> = {
  CLOSING: 'order.closing',
  CLOSED: 'order.closed',
  CANCELLED: 'order.cancelled',
  PAID: 'order.paid',
  REFUNDING: 'order.refunding',
  CLOSED_REFUNDED: 'order.refunded',
};

/** @param version the order's version after the reported change. @param now the database's time in this transaction. */
export function orderEvent(
  type: OrderEventType,
  order: Order,
  version: number,
  now: Date,
  details: EventDetails = {},
  traceparent?: string,
): OutboxEntry {
  const body = {
    orderId: order.id,
    merchantId: order.merchantId,
    orderVersion: version,
    amount: Number(order.amount),
    currency: order.currency,
    expiresAt: order.expiresAt.toISOString(),
    ...details,
  };
  return outboxEvent(type, body, now, traceparent);
}

/** An event that belongs to no stored order: about money without one, or about an order that was refused. */
export function outboxEvent(
  type: OrderEventType,
  details: Record<string, unknown>,
  now: Date,
  traceparent?: string,
): OutboxEntry {
  const id = uuidv7();
  const body = { id, type, version: 1, occurredAt: now.toISOString(), ...details };
  return { id, route: 'event', routingKey: type, body, ...(traceparent === undefined ? {} : { traceparent }) };
}

/** Who acts, and in which transaction. */
export interface ActionOptions extends TransactionOptions {
  /** Stored in the order's history. @default { cause: 'api' } */
  readonly by?: ActionContext | undefined;
}

/** Which person acts, and in which transaction. The history shows the cause `operator`. */
export interface OperatorOptions extends TransactionOptions {
  /** Stored in the order's history. */
  readonly by?: Actor | undefined;
}

/**
 * Who acts, and how long the action may wait for providers. It accepts no transaction, because no transaction may wait
 * for a remote answer.
 */
export interface LookUpOptions<By extends Actor = ActionContext> {
  /** Stored in the order's history. */
  readonly by?: By | undefined;
  /** Ends the wait for the providers. @default AbortSignal.timeout(8000) */
  readonly signal?: AbortSignal | undefined;
}

/** Marks a decision by a person in the history, whichever interface the request used. */
export function byOperator(by: Actor = {}): ActionContext {
  return contextOf({ ...by, cause: 'operator' });
}

/** The timeout, and the work that scheduled it, as the cause of a change. */
export function causeOf({ cause, traceparent }: Pick<DueTimeout, 'cause' | 'traceparent'>): ActionContext {
  return { cause, traceparent };
}
