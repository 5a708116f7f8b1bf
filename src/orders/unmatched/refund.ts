import { createHash } from 'node:crypto';
import { type AttemptKey, type PaymentAttempt } from '../payment-attempt';

/**
 * Why money is refunded. `partial`: the order was paid only in part, or in another currency · `operator`: a person
 * decided so.
 */
export type RefundReason = 'late' | 'surplus' | 'partial' | 'operator';

/** The refund of one attempt. Each attempt has at most one refund, of the whole payment. */
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
 */
export function refundNumber({
  provider,
  reference,
  merchantAccount = null,
}: Omit<AttemptKey, 'merchantAccount'> & { readonly merchantAccount?: string | null }): string {
  const account = merchantAccount === null ? '' : `\n${merchantAccount}`;
  return createHash('sha256').update(`refund\n${provider}\n${reference}${account}`).digest('hex').slice(0, 32);
}

/** Pure: returns the refund of a paid attempt. */
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
    amount: paidAmount,
    currency: paidCurrency,
    reason,
  };
}
