import { type PaymentEvidence, type RefundOutcome } from '../payment-outcome';
import { untrusted } from './recognise';
import { type Refund } from './stripe-objects';

/** What a refund has to be to be ours. */
export interface ExpectedRefund {
  readonly refundNumber: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly paymentIntent: string;
}

/** Under which name the refund number is kept in a refund's metadata. */
export const REFUND_NUMBER = 'refundNumber';

/** What the state of our refund means. A refund of another amount or payment is none of ours: UNKNOWN. */
export function toRefundOutcome(refund: Refund, expected: ExpectedRefund): RefundOutcome {
  const mismatch = findMismatch(refund, expected);
  if (mismatch !== undefined) return untrusted(`refund ${refund.id} of Stripe has another ${mismatch} than was asked`);
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
      return { type: 'UNKNOWN', reason: `refund status "${refund.status ?? 'null'}" is not known`, evidence };
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
