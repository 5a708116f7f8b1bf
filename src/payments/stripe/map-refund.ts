import { type PaymentEvidence, type RefundOutcome } from '../payment-outcome';
import { untrusted } from './recognise';
import { type Refund } from './stripe-objects';

/** What our refund must match. */
export interface ExpectedRefund {
  readonly refundNumber: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly paymentIntent: string;
}

/** Metadata key of the refund number. */
export const REFUND_NUMBER = 'refundNumber';

/** Maps the state of our refund. A refund with another amount or payment is not ours, so it is UNKNOWN. */
export function toRefundOutcome(refund: Refund, expected: ExpectedRefund): RefundOutcome {
  const mismatch = findMismatch(refund, expected);
  if (mismatch !== undefined) return untrusted(`Stripe's refund ${refund.id} has a different ${mismatch}`);
  const evidence = refundEvidence(refund);
  switch (refund.status) {
    case 'succeeded':
      return { type: 'REFUNDED', refundId: refund.id, evidence };
    case 'pending':
    case 'requires_action':
      return { type: 'PENDING', evidence };
    case 'failed':
    case 'canceled':
      return { type: 'REJECTED', reason: `refund ${refund.status}: ${refund.failure_reason ?? 'no reason'}`, evidence };
    default:
      return { type: 'UNKNOWN', reason: `unknown refund status "${refund.status ?? 'null'}"`, evidence };
  }
}

function findMismatch(refund: Refund, expected: ExpectedRefund): string | undefined {
  if (refund.metadata?.[REFUND_NUMBER] !== expected.refundNumber) return 'number';
  if (refund.amount !== expected.amount) return 'amount';
  if (refund.currency !== expected.currency) return 'currency';
  return refund.payment_intent === expected.paymentIntent ? undefined : 'payment intent';
}

function refundEvidence({ id, status, amount, currency }: Refund): PaymentEvidence {
  return { refund: id, status, amount: String(amount), currency };
}
