import { type Clock } from '../../clock';
import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type QueryOutcome } from '../payment-outcome';
import { type AlipayAnswer, evidenceOf, isNoTrade, mismatched, unrecognised } from './alipay-answer';
import { fromBeijingTime } from './beijing-time';
import { fromYuan } from './yuan';

/** Currency of all amounts, unless the answer names another one. */
export const ALIPAY_CURRENCY = 'CNY';
/** These amounts are missing or `0.00` until the buyer pays. */
const PAID_AMOUNTS = ['receipt_amount', 'buyer_pay_amount', 'invoice_amount'];

/** Maps a verified answer to alipay.trade.query. */
export function toQueryOutcome(answer: AlipayAnswer, attempt: PaymentAttemptRef, clock: Clock): QueryOutcome {
  const evidence = evidenceOf(answer);
  if (isNoTrade(answer)) return { type: 'NOT_FOUND', evidence };
  if (answer.code !== '10000') return unrecognised(answer);
  switch (answer.fields['trade_status']) {
    case 'WAIT_BUYER_PAY':
      return { type: 'OPEN', evidence };
    case 'TRADE_SUCCESS':
    case 'TRADE_FINISHED':
      return toPaid(answer, attempt, clock);
    case 'TRADE_CLOSED':
      return { type: wasPaid(answer) ? 'REFUNDED' : 'CLOSED', evidence };
    default:
      return unrecognised(answer);
  }
}

/** TRADE_CLOSED means either never paid or fully refunded. A refunded trade still shows its payment. */
function wasPaid({ fields }: AlipayAnswer): boolean {
  return Boolean(fields['send_pay_date']) || PAID_AMOUNTS.some((name) => (fromYuan(fields[name]) ?? 0n) > 0n);
}

function toPaid(answer: AlipayAnswer, attempt: PaymentAttemptRef, clock: Clock): QueryOutcome {
  const { total_amount: total, trade_no: transactionId, send_pay_date: sentAt, trans_currency: other } = answer.fields;
  const currency = other ?? ALIPAY_CURRENCY;
  if (currency !== ALIPAY_CURRENCY || attempt.currency !== currency) return mismatched(answer, 'currency');
  const amount = fromYuan(total);
  // Alipay documents the date as optional. A payment counts even if its date is missing.
  const paidAt = sentAt ? fromBeijingTime(sentAt) : new Date(clock.now());
  if (!amount || !paidAt || !transactionId) return unrecognised(answer);
  return { type: 'PAID', amount, currency, paidAt, transactionId, evidence: evidenceOf(answer) };
}
