import { createHash } from 'node:crypto';
import { type AttemptKey, heldAmountOf, type PaymentAttempt } from '../payment-attempt';

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

/** Pure: returns the refund of all that a paid attempt holds. */
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

/** Pure: returns the refund of what is too much of a paid attempt. */
export function refundOfExcess(attempt: PaymentAttempt, excess: bigint): Refund {
  return { ...refundOf(attempt, 'overpaid'), number: refundNumber(attempt, 'excess'), amount: excess };
}
