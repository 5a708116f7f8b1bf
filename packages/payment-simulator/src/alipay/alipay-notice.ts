import { createHash } from 'node:crypto';
import { type NotificationPost } from '../protocol';
import { type SimulatedPayment } from '../simulated-payment';
import { type AlipaySimulatedMerchant } from './alipay-merchants';
import { signedText, signRsa2 } from './alipay-signature';
import { alipayTime, yuan } from './alipay-text';
import { tradeStatus } from './alipay-trades';

/** What Alipay posts: a form, signed over its decoded parameters without `sign` and `sign_type`. */
export function alipayNotice(
  payment: SimulatedPayment,
  event: 'paid' | 'closed' | 'refunded',
  merchant: AlipaySimulatedMerchant,
  now: number,
): NotificationPost {
  const params = { ...common(payment, merchant, now), ...details(payment, event, now) };
  const sign = signRsa2(signedText(params, ['sign', 'sign_type']), merchant.alipayPrivateKey);
  return {
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: new URLSearchParams({ ...params, sign, sign_type: 'RSA2' }).toString(),
  };
}

function common(payment: SimulatedPayment, { appId, sellerId }: AlipaySimulatedMerchant, now: number) {
  const { reference, transactionId, createdAt, amount, paidAmount } = payment.entry(now);
  return {
    ...{ notify_type: 'trade_status_sync', notify_time: alipayTime(now), charset: 'utf-8', version: '1.0' },
    ...{ app_id: appId, auth_app_id: appId, seller_id: sellerId, buyer_id: '2088000000009999' },
    ...{ out_trade_no: reference, trade_no: transactionId ?? `sim-${reference}`, gmt_create: alipayTime(createdAt) },
    // Signed decoded: a shop that decodes twice, or not at all, gets another text.
    subject: '订单 100% + “more”',
    total_amount: yuan(paidAmount ?? amount),
  };
}

function details(payment: SimulatedPayment, event: string, now: number): Readonly<Record<string, string>> {
  const entry = payment.entry(now);
  const { paidAt, paidAmount, closedAt, refundedAmount, refundedAt, refunds } = entry;
  const paid = paidAt === null ? {} : { gmt_payment: alipayTime(paidAt), receipt_amount: yuan(paidAmount ?? 0n) };
  const closed = { gmt_close: alipayTime(refundedAt ?? closedAt ?? now) };
  const status = { trade_status: event === 'paid' ? 'TRADE_SUCCESS' : tradeStatus(entry) };
  const id = { notify_id: createHash('sha256').update(`${entry.reference} ${event} ${refundedAmount}`).digest('hex') };
  if (event === 'paid') return { ...status, ...paid, ...id };
  if (event === 'closed') return { ...status, ...closed, ...id };
  const last = refunds.at(-1);
  const refund = { refund_fee: yuan(refundedAmount), gmt_refund: alipayTime(now), out_biz_no: last?.number ?? '' };
  return { ...status, ...paid, ...refund, ...(refundedAt === null ? {} : closed), ...id };
}
