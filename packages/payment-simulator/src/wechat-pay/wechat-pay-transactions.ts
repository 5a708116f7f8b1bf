import { type LedgerEntry, type SimulatedStatus } from '../ledger-entry';
import { type SimulatedPayment } from '../simulated-payment';
import { beijingTime } from './beijing-time';
import { type WechatPaySimulatedMerchant } from './wechat-pay-merchants';
import { wechatPayError, type WechatPayResult } from './wechat-pay-result';

/** Name and text of every state. */
const STATES = {
  OPEN: ['NOTPAY', '订单未支付'],
  PROCESSING: ['USERPAYING', '用户支付中'],
  AUTHORIZED: ['ACCEPT', '已接收，等待扣款'],
  PAID: ['SUCCESS', '支付成功'],
  CLOSED: ['CLOSED', '订单已关闭'],
  REFUNDED: ['REFUND', '订单发生过退款，退款详情请查询退款单'],
} as const;

/** Answers a query of the payment by the shop's number. */
export function queryTransaction(
  payment: SimulatedPayment | undefined,
  merchant: WechatPaySimulatedMerchant,
  now: number,
): WechatPayResult {
  if (!payment) return wechatPayError('ORDER_NOT_EXIST');
  // Before the query: a buyer who pays right after it must not show in its answer.
  const entry = payment.entry(now);
  const status = payment.query(now);
  if (status === 'NOT_FOUND') return wechatPayError('ORDER_NOT_EXIST');
  // Any refunded part makes it REFUND.
  const isTouched = status === 'PAID' && entry.refunds.some((refund) => refund.status !== 'REJECTED');
  return { status: 200, body: showTransaction(entry, isTouched ? 'REFUNDED' : status, merchant) };
}

/** Closes the payment. While the buyer pays, the first refusal is USERPAYING, the next FREQUENCY_LIMITED, and so on. */
export function closeTransaction(payment: SimulatedPayment | undefined, now: number): WechatPayResult {
  if (!payment) return wechatPayError('ORDERNOTEXIST');
  const closed = payment.close(now);
  switch (closed) {
    case 'CLOSED':
      return { status: 204 };
    case 'ALREADY_CLOSED':
      return wechatPayError(payment.entry(now).paidAt === null ? 'ORDER_CLOSED' : 'ORDER_PAID');
    case 'PAID':
      return wechatPayError('ORDER_PAID');
    case 'IN_PROGRESS':
      return wechatPayError(payment.entry(now).closes % 2 === 1 ? 'USERPAYING' : 'FREQUENCY_LIMITED');
    case 'NOT_FOUND':
      return wechatPayError('ORDERNOTEXIST');
  }
}

/** A payment as WeChat Pay shows it, in queries and notifications. */
export function showTransaction(
  entry: LedgerEntry,
  status: SimulatedStatus,
  { options: { mchid, appid } }: WechatPaySimulatedMerchant,
): Readonly<Record<string, unknown>> {
  const [state, text] = STATES[status];
  const common = { appid, mchid, out_trade_no: entry.reference, trade_state: state, trade_state_desc: text };
  if (entry.paidAt === null)
    return { ...common, attach: '', payer: {}, amount: { payer_currency: 'CNY', total: Number(entry.amount) } };
  const currency = entry.paidCurrency ?? entry.currency;
  // A JSON number, as at WeChat Pay: the amounts of a simulator stay below 2^53.
  const total = Number(entry.paidAmount ?? entry.amount);
  return {
    ...{ ...common, transaction_id: entry.transactionId, trade_type: 'NATIVE', bank_type: 'OTHERS', attach: '' },
    ...{ success_time: beijingTime(entry.paidAt), payer: { openid: 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o' } },
    amount: { total, payer_total: total, currency, payer_currency: currency },
  };
}
