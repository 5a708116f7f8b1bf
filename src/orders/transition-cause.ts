/** Who, or which of the clocks, moved an order. */
export const TRANSITION_CAUSES = ['api', 'command', 'message', 'sweep', 'passive', 'notify', 'operator'] as const;

export type TransitionCause = (typeof TRANSITION_CAUSES)[number];

/** On whose behalf something is done; kept in the history. */
export interface ActionContext {
  readonly cause: TransitionCause;
  /** Name of the API key, the user or the service. */
  readonly actor?: string | undefined;
  /** W3C traceparent of the request. */
  readonly traceparent?: string | undefined;
}

/** Used by callers of the module API that give no context. */
export const BY_API: ActionContext = Object.freeze({ cause: 'api' });
