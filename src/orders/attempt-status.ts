/** The statuses of a payment attempt, as text in the database and in the API. */
export const ATTEMPT_STATUSES = [
  'CREATED',
  'OPEN',
  'PAID',
  'CLOSED',
  'UNKNOWN',
  'REFUNDING',
  'REFUNDED',
  'DUPLICATE',
  'SETTLED',
] as const;

/**
 * The status of a payment attempt.
 * - `CREATED`: stored, but not yet handed to the provider or the buyer.
 * - `OPEN`: may be paid at any moment.
 * - `UNKNOWN`: the last look-up had no clear answer.
 * - `PAID`: the money is received.
 * - `CLOSED`: takes no more money.
 * - `REFUNDING`, `REFUNDED`: the refund is in progress, or done.
 * - `DUPLICATE`: another name of a payment that another attempt holds, according to the provider.
 * - `SETTLED`: a person has dealt with the money outside of this system. It counts as none until a person reopens it.
 */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** Statuses of attempts that may take money. */
export const OPEN_STATUSES = ['CREATED', 'OPEN', 'UNKNOWN'] as const satisfies readonly AttemptStatus[];

/** Statuses of attempts whose payment was booked, whatever became of the money since. */
export const BOOKED_STATUSES = ['PAID', 'REFUNDING', 'REFUNDED', 'SETTLED'] as const satisfies readonly AttemptStatus[];

/** @internal For tests and diagrams: the statuses that a new attempt may have. `PAID`: its payment was reported, and nobody had registered it. */
export const FIRST_ATTEMPT_STATUSES = ['CREATED', 'OPEN', 'PAID'] as const satisfies readonly AttemptStatus[];

/** Every allowed transition of an attempt. No other one is ever written. */
export const ATTEMPT_TRANSITIONS = {
  // SETTLED at once: a person had settled its payment before it was registered.
  CREATED: ['OPEN', 'UNKNOWN', 'PAID', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  OPEN: ['UNKNOWN', 'PAID', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  UNKNOWN: ['OPEN', 'PAID', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  // Back to OPEN or CLOSED, or on to DUPLICATE: a report was wrong, and the provider names another attempt.
  PAID: ['REFUNDING', 'OPEN', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  // Money may arrive in spite of a close.
  CLOSED: ['PAID', 'DUPLICATE', 'SETTLED'],
  REFUNDING: ['REFUNDED'],
  // The provider returned the money after it had confirmed the refund.
  REFUNDED: ['REFUNDING'],
  // Later the provider may tell of a payment under this name alone.
  DUPLICATE: ['PAID', 'SETTLED'],
  // Back to PAID only by a person who reopens it.
  SETTLED: ['PAID'],
} as const satisfies Record<AttemptStatus, readonly AttemptStatus[]>;

/** Whether the table allows this transition. */
export function canMoveAttempt(from: AttemptStatus, to: AttemptStatus): boolean {
  return (ATTEMPT_TRANSITIONS[from] as readonly AttemptStatus[]).includes(to);
}
