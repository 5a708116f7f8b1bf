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

/** Default for callers of the module API that give no context. */
export const BY_API: ActionContext = Object.freeze({ cause: 'api' });
