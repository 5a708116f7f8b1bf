import { type UnexpectedMoney } from '../order-store';
import { type PaymentAttempt } from '../payment-attempt';

/** A booked payment as unexpected money. */
export function strayMoney(
  { orderId, provider, reference, paidAmount, paidCurrency, transactionId }: PaymentAttempt,
  why: Pick<UnexpectedMoney, 'reason' | 'handling' | 'now' | 'traceparent'>,
): UnexpectedMoney {
  const money = { orderId, provider, reference, amount: paidAmount ?? 0n, currency: paidCurrency ?? '' };
  return { ...money, ...why, evidence: { transactionId } };
}
