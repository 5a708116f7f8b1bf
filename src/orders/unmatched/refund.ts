import { createHash } from 'node:crypto';
import { type AttemptKey, type PaymentAttempt } from '../payment-attempt';

/** Why money goes back. `partial`: the order was paid in part only, or in another currency · `operator`: a person says so. */
export type RefundReason = 'late' | 'surplus' | 'partial' | 'operator';

/** Money of one attempt on its way back to the buyer. One attempt, one refund, of all that was paid. */
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
 * The number of the refund of an attempt, 32 hex digits. Computed and not drawn, so that the provider would notice a
 * second refund even if our database had been set back to a backup in between.
 */
export function refundNumber({
  provider,
  reference,
  merchantAccount = null,
}: Omit<AttemptKey, 'merchantAccount'> & { readonly merchantAccount?: string | null }): string {
  const account = merchantAccount === null ? '' : `\n${merchantAccount}`;
  return createHash('sha256').update(`refund\n${provider}\n${reference}${account}`).digest('hex').slice(0, 32);
}

/** Pure: the refund of a paid attempt. */
export function refundOf(attempt: PaymentAttempt, reason: RefundReason): Refund {
  const { provider, reference, merchantAccount, orderId, paidAmount, paidCurrency } = attempt;
  if (paidAmount === null || paidCurrency === null) {
    throw new Error(`attempt ${reference} of ${provider} has nothing to give back`);
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
