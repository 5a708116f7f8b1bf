import { type Money } from './book-money';
import { type UnmatchedMoney, type UnmatchedReason } from '../unmatched/unmatched-money';
import { type PaidSource } from '../payment-attempt';
import { evidenceOf, type ReportedPayment } from './reported-payment';
import { type ActionContext } from '../transition-cause';

/** Converts a report to money. @param now the payment time if the report has none. */
export function moneyOf(
  payment: ReportedPayment,
  merchantAccount: string | null,
  source: PaidSource,
  now: Date,
): Money {
  const { provider, reference, amount, currency, paidAt = now, transactionId = null } = payment;
  return { provider, reference, merchantAccount, amount: BigInt(amount), currency, paidAt, transactionId, source };
}

/** Converts a report that its order does not accept to unmatched money. */
export function unmatchedMoney(
  payment: ReportedPayment,
  money: Money,
  reason: UnmatchedReason,
  { traceparent }: ActionContext,
  now: Date,
): UnmatchedMoney {
  const { provider, reference, merchantAccount, amount, currency, transactionId, source } = money;
  const { orderId } = payment;
  const what = { provider, reference, merchantAccount, amount, currency, transactionId, source, orderId };
  return { ...what, reason, handling: 'kept', evidence: evidenceOf(payment), now, traceparent };
}
