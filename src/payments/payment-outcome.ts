/** What the provider said, stored with the history entry that it caused. JSON without secrets. */
export type PaymentEvidence = { readonly [key: string]: unknown };

/** The state is unknown: time-out, outage, or an answer that is unverified or not recognized. Changes no order. */
export interface UnknownOutcome {
  readonly type: 'UNKNOWN';
  /** Why, for logs and operators. Do not parse it. */
  readonly reason: string;
  /** How long to wait before the next try, if the provider or ResilientProvider says so. */
  readonly retryAfterMs?: number;
  /** The provider itself seems to be down (no answer, 5xx). The circuit breaker counts it. */
  readonly outage?: boolean;
  /** The answer was not signed correctly or belongs to another request, so it may be forged. Counted and logged. */
  readonly untrusted?: boolean;
  /** The answer is clear but does not decide the order. Looking up again does not help: a person must decide. */
  readonly needsPerson?: boolean;
  /** @internal An operator has paused the provider, so it was not asked. Such a wait does not use up anything. */
  readonly paused?: boolean;
  readonly evidence?: PaymentEvidence;
}

/** The provider took the money. The amount is what it took, which may differ from the attempt's amount. */
export interface PaidOutcome {
  readonly type: 'PAID';
  /** Minor units of `currency`. */
  readonly amount: bigint;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly paidAt: Date;
  /** The provider's number of the payment, the same in everything that the provider says about it. */
  readonly transactionId: string;
  readonly evidence: PaymentEvidence;
}

/** The provider has no such payment. Before `timeExpire` plus a margin, this proves nothing. */
export interface NotFoundOutcome {
  readonly type: 'NOT_FOUND';
  /** The time by the provider's clock when it answered, if the verified answer contains it. */
  readonly providerNow?: Date;
  readonly evidence?: PaymentEvidence;
}

/**
 * State of one payment attempt at the provider.
 * - `OPEN`: the buyer can pay now
 * - `PROCESSING`: the buyer is paying, or the money is on its way
 * - `AUTHORIZED`: the money is held but not taken
 * - `PAID`: the money is taken
 * - `CLOSED`: can never take money
 * - `REFUNDED`: was paid, and all of it was refunded
 * - `NOT_FOUND`, `UNKNOWN`
 */
export type QueryOutcome =
  | { readonly type: 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'CLOSED' | 'REFUNDED'; readonly evidence?: PaymentEvidence }
  | PaidOutcome
  | NotFoundOutcome
  | UnknownOutcome;

/**
 * Result of closing a payment attempt at the provider.
 * - `CLOSED`: closed by this call
 * - `ALREADY_CLOSED`: was closed before, possibly by an earlier call whose answer was lost
 * - `PAID`: too late, the buyer has paid; query for the amount
 * - `IN_PROGRESS`: the buyer is paying now; query in 3 to 5 s
 * - `NOT_FOUND`
 * - `UNKNOWN`: it may or may not be closed; query, or close again
 */
export type CloseOutcome =
  | { readonly type: 'CLOSED' | 'ALREADY_CLOSED' | 'PAID' | 'IN_PROGRESS'; readonly evidence?: PaymentEvidence }
  | NotFoundOutcome
  | UnknownOutcome;

/**
 * Result of a refund.
 * - `REFUNDED`: refunded, by this call or an earlier one with the same number
 * - `PENDING`: accepted and on its way; repeat with the same number
 * - `REJECTED`: refused for good, for example because the balance is too low or the time for refunds is over
 * - `UNKNOWN`: it may or may not be on its way; repeat with the same number
 */
export type RefundOutcome =
  | { readonly type: 'REFUNDED'; readonly refundId: string; readonly evidence: PaymentEvidence }
  | { readonly type: 'PENDING'; readonly evidence?: PaymentEvidence }
  | { readonly type: 'REJECTED'; readonly reason: string; readonly evidence?: PaymentEvidence }
  | UnknownOutcome;
