import { type PaymentAttemptRef } from './payment-attempt-ref';

/** A refund to make. */
export interface RefundRequest {
  /**
   * The attempt that was paid. If its `reference` is `transactionId`, the provider took the money under another reference,
   * which names another payment.
   */
  readonly attempt: PaymentAttemptRef;
  /** The same for every call about this refund. 32 characters of `[0-9a-f]`, which every provider accepts. */
  readonly refundNumber: string;
  /** What to refund, in minor units of `currency`; at most `paidAmount`. */
  readonly amount: bigint;
  /** What the provider took for the attempt. */
  readonly paidAmount: bigint;
  /** The currency of the payment, ISO 4217 in upper case. */
  readonly currency: string;
  /** The provider's number of the payment, if it is known. Prefer it: a reference may have several payments. */
  readonly transactionId?: string;
  /** For the provider's records, at most 80 printable ASCII characters. */
  readonly reason: string;
}
