import { storableText } from '../database';
import { activeTraceparent } from '../tracing';

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
 * that is active. A NUL in the name of the actor, which PostgreSQL cannot hold, is left out: it must not refuse a payment.
 */
export function contextOf(by: Partial<ActionContext> = {}): ActionContext {
  const { cause = 'api', traceparent = activeTraceparent(), actor } = by;
  const named = actor === undefined ? { ...by, cause } : { ...by, cause, actor: storableText(actor) };
  return traceparent === undefined ? named : { ...named, traceparent };
}
