import { present } from '../../errors';
import { type UnexpectedMoney } from '../order-store';
import { type PaymentAttempt } from '../payment-attempt';

/** A booked payment as unexpected money. */
export function strayMoney(
  { orderId, provider, reference, paidAmount, paidCurrency, transactionId }: PaymentAttempt,
  why: Pick<UnexpectedMoney, 'reason' | 'handling' | 'now' | 'traceparent'>,
): UnexpectedMoney {
  const amount = present(paidAmount, `the amount that was paid for ${reference}`);
  const currency = present(paidCurrency, `the currency that ${reference} was paid in`);
  const money = { orderId, provider, reference, amount, currency };
  return { ...money, ...why, evidence: { transactionId } };
}
