import { type PaidSource } from '../payment-attempt';

/** Why money could not be booked on its order. */
export type UnmatchedReason =
  | 'late'
  | 'surplus'
  | 'unknown-order'
  | 'attempt-mismatch'
  | 'amount-mismatch'
  | 'currency-mismatch'
  /** The provider rejects its refund, or had confirmed it and then returned the money to the merchant. */
  | 'refund-failed'
  /** The same, of the refund of what was too much. The rest of the payment may have a refund of its own. */
  | 'excess-refund-failed'
  /** The order is paid, and this much of the payment is too much. */
  | 'overpaid'
  /** What the provider stated is not an amount of money. The row has the amount 0 and the currency XXX. */
  | 'invalid-amount'
  /** The buyer's bank takes the payment back. The order keeps its status. */
  | 'chargeback';

/** The reasons of rows about a payment that does not pay its order by itself. */
export const PART_REASONS = ['amount-mismatch', 'currency-mismatch'] as const satisfies readonly UnmatchedReason[];

/** The reasons of rows about a whole payment that an attempt of the order holds. */
export const WHOLE_PAYMENT_REASONS = ['late', 'surplus', ...PART_REASONS] as const satisfies readonly UnmatchedReason[];

/** The reasons of rows about money that an attempt of the order holds, all of it or a part. */
export const HELD_MONEY_REASONS = [...WHOLE_PAYMENT_REASONS, 'overpaid'] as const satisfies readonly UnmatchedReason[];

/** The reasons of rows about refunds that failed. */
export const FAILED_REFUND_REASONS = [
  'refund-failed',
  'excess-refund-failed',
] as const satisfies readonly UnmatchedReason[];

/** SQL: a list of reasons for IN. */
export function reasonsSql(reasons: readonly UnmatchedReason[]): string {
  return reasons.map((reason) => `'${reason}'`).join(', ');
}

/**
 * How such money is handled.
 * - `kept`: not automatically; a person must decide.
 * - `waiting`: it is not enough for its order, whose deadline decides.
 * - `revived`: it made its closed order PAID.
 * - `refunding`: its refund has begun.
 * - `adopted`: its order was placed later, or has it under another name.
 * - `completed`: the rest arrived, and its order is paid.
 * - `settled`: a person has handled it.
 */
export type UnmatchedHandling = 'kept' | 'waiting' | 'revived' | 'refunding' | 'adopted' | 'completed' | 'settled';

/** A payment that belongs to no order, or arrived too late. */
export interface UnmatchedMoney {
  readonly reason: UnmatchedReason;
  readonly handling: UnmatchedHandling;
  /** Null: its attempt was not registered. */
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  /** Null: the provider has no merchants. */
  readonly merchantAccount: string | null;
  readonly amount: bigint;
  readonly currency: string;
  readonly transactionId: string | null;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly now: Date;
  readonly traceparent?: string | undefined;
}
