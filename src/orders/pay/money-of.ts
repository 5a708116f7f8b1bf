import { type Money } from './book-money';
import { type UnmatchedMoney, type UnmatchedReason } from '../sql/order-store';
import { type PaidSource } from '../payment-attempt';
import { evidenceOf, type ReportedPayment } from './reported-payment';
import { type ActionContext } from '../transition-cause';

/** A report as money. @param now when it counts as paid where it does not say. */
export function moneyOf(
  payment: ReportedPayment,
  merchantAccount: string | null,
  source: PaidSource,
  now: Date,
): Money {
  const { provider, reference, amount, currency, paidAt = now, transactionId = null } = payment;
  return { provider, reference, merchantAccount, amount: BigInt(amount), currency, paidAt, transactionId, source };
}

/** A report that its order does not take. */
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
