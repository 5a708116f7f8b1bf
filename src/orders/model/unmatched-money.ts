import { createHash } from 'node:crypto';
import { type EntityManager } from 'typeorm';
import { present } from '../../errors';
import { type PaidSource, heldAmountOf, type PaymentAttempt, type AttemptKey } from './order';
import { type ActionContext } from './transition';

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

export type PartReason = (typeof PART_REASONS)[number];

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

export function unmatchedFromAttempt(
  attempt: PaymentAttempt,
  why: Pick<UnmatchedMoney, 'reason' | 'handling' | 'now' | 'traceparent'>,
): UnmatchedMoney {
  const { orderId, provider, reference, merchantAccount, paidCurrency, transactionId } = attempt;
  const currency = present(paidCurrency, `the currency that ${reference} was paid in`);
  const source = attempt.paidSource ?? 'report';
  const money = { orderId, provider, reference, merchantAccount, currency, transactionId, source };
  return { ...money, amount: heldAmountOf(attempt), ...why, evidence: {} };
}

/**
 * Why money is refunded. `partial`: the order was paid only in part, or in another currency · `overpaid`: it is too much
 * of a payment that its order keeps · `operator`: a person decided so.
 */
export type RefundReason = 'late' | 'surplus' | 'partial' | 'overpaid' | 'operator';

/** A refund of one attempt. Each has at most one of an excess, and one of everything else. */
export interface Refund extends AttemptKey {
  /** The same for every call to the provider; see refundNumber. */
  readonly number: string;
  readonly orderId: string;
  /** Minor units of `currency`. */
  readonly amount: bigint;
  readonly currency: string;
  readonly reason: RefundReason;
}

/**
 * The number of an attempt's refund, 32 hex digits. Computed instead of random, so that the provider detects a second
 * refund even after a database was restored from a backup.
 *
 * @param what the excess has a number of its own.
 */
export function refundNumber(
  {
    provider,
    reference,
    merchantAccount = null,
  }: Omit<AttemptKey, 'merchantAccount'> & { readonly merchantAccount?: string | null },
  what: 'refund' | 'excess' = 'refund',
): string {
  const account = merchantAccount === null ? '' : `\n${merchantAccount}`;
  return createHash('sha256').update(`${what}\n${provider}\n${reference}${account}`).digest('hex').slice(0, 32);
}

/** Whether the order keeps the rest of the payment, so that neither of them changes its status. */
export function isOfExcess({ reason }: Pick<Refund, 'reason'>): boolean {
  return reason === 'overpaid';
}

export function refundOf(attempt: PaymentAttempt, reason: RefundReason): Refund {
  const { provider, reference, merchantAccount, orderId, paidAmount, paidCurrency } = attempt;
  if (paidAmount === null || paidCurrency === null) {
    throw new Error(`attempt ${reference} of ${provider} has no payment to refund`);
  }
  return {
    number: refundNumber(attempt),
    provider,
    reference,
    merchantAccount,
    orderId,
    amount: heldAmountOf(attempt),
    currency: paidCurrency,
    reason,
  };
}

export function refundOfExcess(attempt: PaymentAttempt, excess: bigint): Refund {
  return { ...refundOf(attempt, 'overpaid'), number: refundNumber(attempt, 'excess'), amount: excess };
}

/** A transaction that holds an order's lock. */
export interface LockedContext {
  readonly tx: EntityManager;
  readonly by: ActionContext;
  readonly now: Date;
  /** The attempts were looked up just now. Unconfirmed payments are kept for a person. @default false */
  readonly verified?: boolean;
  /** The attempts are being looked up, and one more look-up would begin the back-off anew. @default false */
  readonly isAsking?: boolean;
}

/**
 * Handlings that need no more action. All others count as open, so that a new handling is never purged before it is
 * listed here. `refunding` is settled when its refund is done.
 */
export const SETTLED_HANDLINGS: readonly UnmatchedHandling[] = ['revived', 'adopted', 'completed', 'settled'];

/** SQL condition: a row of unmatched_payment needs no more action. @param row alias of the row. */
export function isSettled(schema: string, row: string): string {
  const settled = SETTLED_HANDLINGS.map((handling) => `'${handling}'`).join(', ');
  return `(${row}.handling IN (${settled}) OR ${row}.handling = 'refunding' AND (
            SELECT true FROM ${schema}.refund under_way
             WHERE under_way.provider = ${row}.provider AND under_way.reference = ${row}.reference
               AND under_way.merchant_account = ${row}.merchant_account
               AND under_way.status <> 'REFUNDED' LIMIT 1) IS NOT TRUE)`;
}
