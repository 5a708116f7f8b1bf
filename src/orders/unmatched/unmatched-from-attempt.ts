import { present } from '../../errors';
import { type UnmatchedMoney } from './unmatched-money';
import { heldAmountOf, type PaymentAttempt } from '../payment-attempt';

/** Converts a booked payment to unmatched money. */
export function unmatchedFromAttempt(
  attempt: PaymentAttempt,
  why: Pick<UnmatchedMoney, 'reason' | 'handling' | 'now' | 'traceparent'>,
): UnmatchedMoney {
  const { orderId, provider, reference, merchantAccount, paidCurrency, transactionId } = attempt;
  const currency = present(paidCurrency, `the currency that ${reference} was paid in`);
  const source = attempt.paidSource ?? 'report';
  const money = { orderId, provider, reference, merchantAccount, currency, transactionId, source };
  return { ...money, amount: heldAmountOf(attempt), ...why, evidence: {} };
}
