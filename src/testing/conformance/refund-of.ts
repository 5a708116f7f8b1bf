import { randomBytes } from 'node:crypto';
import { type PaymentAttemptRef, type RefundRequest } from '../../payments';

/** A refund of all that was paid, or of a part, with a number of its own. */
export function refundOf(attempt: PaymentAttemptRef, amount: bigint = attempt.amount): RefundRequest {
  const refundNumber = randomBytes(16).toString('hex');
  const { amount: paidAmount, currency } = attempt;
  return { attempt, refundNumber, amount, paidAmount, currency, reason: 'conformance test' };
}
