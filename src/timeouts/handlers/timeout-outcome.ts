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
