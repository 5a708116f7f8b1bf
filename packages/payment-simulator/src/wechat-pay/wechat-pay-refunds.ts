import { z } from 'zod';
import { type LedgerEntry, type LedgerRefund } from '../ledger-entry';
import { type SimulatedPayment } from '../simulated-payment';
import { beijingTime } from './beijing-time';
import { wechatPayError, type WechatPayResult } from './wechat-pay-result';

/** Body of `POST /v3/refund/domestic/refunds`. */
export const refundOrder = z.object({
  out_trade_no: z.string().optional(),
  transaction_id: z.string().optional(),
  out_refund_no: z.string().regex(/^[0-9A-Za-z_\-|*@]{1,64}$/),
  amount: z.object({ refund: z.int().min(1), total: z.int().min(1), currency: z.string() }),
});

/** Takes the order on: the answer is PROCESSING even where the money is back at once; the query tells. */
export function orderRefund(
  payment: SimulatedPayment | undefined,
  order: z.output<typeof refundOrder>,
  now: number,
): WechatPayResult {
  if (!payment) return wechatPayError('RESOURCE_NOT_EXISTS', '订单不存在');
  const before = payment.entry(now);
  if (before.paidAmount !== null && BigInt(before.paidAmount) !== BigInt(order.amount.total)) {
    return wechatPayError('INVALID_REQUEST', '订单金额与支付金额不一致');
  }
  const known = before.refunds.find(({ number, status }) => number === order.out_refund_no && status !== 'REJECTED');
  if (known?.status === 'FAILED') return { status: 200, body: showRefund(before, known) };
  const result = payment.refund(now, { number: order.out_refund_no, amount: BigInt(order.amount.refund) });
  const entry = payment.entry(now);
  const refund = entry.refunds.find(({ number }) => number === order.out_refund_no);
  if (result === 'rejected' || !refund) {
    return wechatPayError(
      refund?.reason === 'scripted' ? 'NOT_ENOUGH' : 'INVALID_REQUEST',
      refund?.reason ?? undefined,
    );
  }
  return { status: 200, body: showRefund(entry, known ? refund : { ...refund, status: 'PENDING' }) };
}

/** Answers a query of the refund by the shop's number. */
export function queryRefund(payment: SimulatedPayment | undefined, number: string, now: number): WechatPayResult {
  const entry = payment?.entry(now);
  const refund = entry?.refunds.find((one) => one.number === number && one.status !== 'REJECTED');
  return entry && refund ? { status: 200, body: showRefund(entry, refund) } : wechatPayError('RESOURCE_NOT_EXISTS');
}

function showRefund(entry: LedgerEntry, refund: LedgerRefund): Readonly<Record<string, unknown>> {
  const [given, total] = [Number(refund.amount), Number(entry.paidAmount ?? entry.amount)];
  const isBack = refund.status === 'REFUNDED' && refund.refundedAt !== null;
  return {
    ...{ refund_id: refund.refundId, out_refund_no: refund.number, transaction_id: entry.transactionId },
    ...{ out_trade_no: entry.reference, channel: 'ORIGINAL', user_received_account: '支付用户零钱' },
    status: isBack ? 'SUCCESS' : refund.status === 'FAILED' ? 'ABNORMAL' : 'PROCESSING',
    ...(isBack && { success_time: beijingTime(refund.refundedAt) }),
    amount: {
      ...{ total, refund: given, payer_total: total, payer_refund: given, settlement_refund: given },
      ...{ settlement_total: total, discount_refund: 0, currency: entry.paidCurrency ?? entry.currency },
    },
  };
}
