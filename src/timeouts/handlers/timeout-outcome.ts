/**
 * What a handler says of one due timeout. Expected outcomes are returned; throwing means `retry`, counted.
 * - `done`: the effect is in this transaction (or there is nothing to do); the row is deleted with it.
 * - `ask`: remote facts are needed first. The row is leased, the transaction commits, `ask` runs outside any
 *   transaction, and `settle` is called again with the answer. Only for handlers that have `ask`.
 * - `retry`: not now. Counted retries use up `maxAttempts`; `counted: false` is for waits that are nobody's
 *   fault (provider down, payment in flight) and never parks. Without `afterMs` the back-off of the kind applies.
 * - `reschedule`: the deadline was moved; wait for the new one.
 * - `park`: no retry can help; a person has to look.
 */
export type TimeoutOutcome =
  | { readonly type: 'done' }
  | { readonly type: 'ask' }
  | { readonly type: 'retry'; readonly reason: string; readonly afterMs?: number; readonly counted: boolean }
  | { readonly type: 'reschedule'; readonly dueAt: Date }
  | { readonly type: 'park'; readonly reason: string };

/** The usual outcome. */
export const DONE: TimeoutOutcome = Object.freeze({ type: 'done' });

/** The outcome that leads to `ask`. */
export const ASK: TimeoutOutcome = Object.freeze({ type: 'ask' });
