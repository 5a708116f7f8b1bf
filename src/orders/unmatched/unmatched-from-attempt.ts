import { present } from '../../errors';
import { type UnmatchedMoney } from './unmatched-money';
import { type PaymentAttempt } from '../payment-attempt';

/** Converts a booked payment to unmatched money. */
export function unmatchedFromAttempt(
  attempt: PaymentAttempt,
  why: Pick<UnmatchedMoney, 'reason' | 'handling' | 'now' | 'traceparent'>,
): UnmatchedMoney {
  const { orderId, provider, reference, merchantAccount, paidAmount, paidCurrency, transactionId } = attempt;
  const amount = present(paidAmount, `the amount that was paid for ${reference}`);
  const currency = present(paidCurrency, `the currency that ${reference} was paid in`);
  const source = attempt.paidSource ?? 'report';
  const money = { orderId, provider, reference, merchantAccount, amount, currency, transactionId, source };
  return { ...money, ...why, evidence: {} };
}
