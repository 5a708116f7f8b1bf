import { type PaymentAttemptRef } from './payment-attempt-ref';

/** Money to be given back. */
export interface RefundRequest {
  /** The attempt that was paid. */
  readonly attempt: PaymentAttemptRef;
  /** The same for every call about this refund: 32 characters of `[0-9a-f]`, so that it fits every provider. */
  readonly refundNumber: string;
  /** What to give back, in minor units of `currency`; at most `paidAmount`. */
  readonly amount: bigint;
  /** What the provider took for the attempt. */
  readonly paidAmount: bigint;
  /** ISO 4217, upper case: the currency that was paid in. */
  readonly currency: string;
  /** The provider's number of the payment, where it is known. */
  readonly transactionId?: string;
  /** For the provider's records, at most 80 printable ASCII characters. */
  readonly reason: string;
}
