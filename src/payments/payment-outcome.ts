/** What the provider really said, kept with the history entry that it caused. JSON, no secrets. */
export type PaymentEvidence = { readonly [key: string]: unknown };

/** Nothing was learned: time-out, outage, unverified or unrecognised answer. Never changes an order. */
export interface UnknownOutcome {
  readonly type: 'UNKNOWN';
  /** Why, for logs and the operator; not to be parsed. */
  readonly reason: string;
  /** When asking again makes sense, if the provider or the guard said so. */
  readonly retryAfterMs?: number;
  /** The provider as a whole seems to be down (no answer, 5xx), so the circuit breaker counts it. */
  readonly outage?: boolean;
  /** The answer was not signed as agreed, or was to another question: somebody may be forging. Counted and logged. */
  readonly untrusted?: boolean;
  /** The answer is clear, and yet not enough to decide: asking again brings nothing new, a person has to look. */
  readonly needsPerson?: boolean;
  readonly evidence?: PaymentEvidence;
}

/** The provider took the money. Amounts are what it took, which may differ from what was asked for. */
export interface PaidOutcome {
  readonly type: 'PAID';
  /** Minor units of `currency`. */
  readonly amount: bigint;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly paidAt: Date;
  /** The provider's own number of the payment. */
  readonly transactionId: string;
  readonly evidence: PaymentEvidence;
}

/** The provider knows of no such attempt. Not proof of anything before `timeExpire` plus a margin. */
export interface NotFoundOutcome {
  readonly type: 'NOT_FOUND';
  /** The provider's clock when it answered, where the verified answer tells it. */
  readonly providerNow?: Date;
  readonly evidence?: PaymentEvidence;
}

/**
 * State of one attempt at the provider.
 * - `OPEN`: the buyer could pay now · `PROCESSING`: the buyer is paying or the money is on its way
 * - `AUTHORIZED`: held, not taken · `PAID`: taken · `CLOSED`: can never take money any more
 * - `REFUNDED`: was paid, all of it given back · `NOT_FOUND` · `UNKNOWN`
 */
export type QueryOutcome =
  | { readonly type: 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'CLOSED' | 'REFUNDED'; readonly evidence?: PaymentEvidence }
  | PaidOutcome
  | NotFoundOutcome
  | UnknownOutcome;

/**
 * What came of asking the provider to refuse the buyer from now on.
 * - `CLOSED`: closed by this call · `ALREADY_CLOSED`: was closed before, also by an earlier call whose answer was lost
 * - `PAID`: too late, the buyer paid; query for the amount · `IN_PROGRESS`: the buyer is paying now, query in 3-5 s
 * - `NOT_FOUND` · `UNKNOWN`: it may or may not be closed; query, or close again
 */
export type CloseOutcome =
  | { readonly type: 'CLOSED' | 'ALREADY_CLOSED' | 'PAID' | 'IN_PROGRESS'; readonly evidence?: PaymentEvidence }
  | NotFoundOutcome
  | UnknownOutcome;

/**
 * What came of asking the provider to give money back.
 * - `REFUNDED`: it is given back, now or by an earlier call with the same number
 * - `PENDING`: taken on and on its way; ask again with the same number
 * - `REJECTED`: will not be done as asked, e.g. the balance is too low or the time for refunds is over
 * - `UNKNOWN`: it may or may not be on its way; ask again with the same number
 */
export type RefundOutcome =
  | { readonly type: 'REFUNDED'; readonly refundId: string; readonly evidence: PaymentEvidence }
  | { readonly type: 'PENDING'; readonly evidence?: PaymentEvidence }
  | { readonly type: 'REJECTED'; readonly reason: string; readonly evidence?: PaymentEvidence }
  | UnknownOutcome;
