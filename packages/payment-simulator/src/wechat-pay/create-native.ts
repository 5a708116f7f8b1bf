import { z } from 'zod';
import { type PaymentLedger } from '../payment-ledger';
import { type SimulatedPayment } from '../simulated-payment';
import { paymentInput } from '../simulator-input';
import { type AuthorizedShop } from './authorize-shop';
import { wechatPayError, type WechatPayResult } from './wechat-pay-result';

const nativeOrder = z.object({
  appid: z.string(),
  mchid: z.string(),
  description: z.string().min(1),
  out_trade_no: z.string().regex(/^[0-9A-Za-z_\-*|]{6,32}$/),
  // WeChat Pay wants it to be a minute away at least; here it may be shorter, so that tests can be.
  time_expire: z.iso.datetime({ offset: true }).optional(),
  notify_url: z.url().optional(),
  amount: z.object({ total: z.int().min(1), currency: z.string().default('CNY') }),
});

/** `POST /v3/pay/transactions/native`: a payment that a buyer could scan. Again with the same terms: the same answer. */
export function createNative(
  provider: string,
  ledger: PaymentLedger,
  { account, merchant }: AuthorizedShop,
  body: unknown,
  now: number,
): WechatPayResult {
  const { data: order, error } = nativeOrder.safeParse(body);
  if (!order) return wechatPayError('PARAM_ERROR', z.prettifyError(error));
  const { appid, mchid } = merchant.options;
  if (order.appid !== appid || order.mchid !== mchid) return wechatPayError('PARAM_ERROR', 'appid和mchid不匹配');
  const reference = order.out_trade_no;
  const isOwn = ({ terms }: SimulatedPayment): boolean => (terms.merchantAccount ?? account) === account;
  const known = ledger.find(provider, reference, isOwn)?.payment.entry(now);
  if (known?.status === 'CLOSED') return wechatPayError('ORDER_CLOSED');
  if (known && known.paidAt !== null) return wechatPayError('ORDER_PAID');
  if (known && known.amount !== String(order.amount.total)) {
    return wechatPayError('INVALID_REQUEST', '201 商户订单号重复');
  }
  if (!known) {
    const terms = {
      ...{ provider, reference, merchantAccount: account, amount: order.amount.total, currency: order.amount.currency },
      ...(order.time_expire !== undefined && { timeExpire: order.time_expire }),
      ...(order.notify_url !== undefined && { notify: { url: order.notify_url } }),
    };
    ledger.create(paymentInput.parse(terms));
  }
  return { status: 200, body: { code_url: `weixin://wxpay/bizpayurl?pr=${encodeURIComponent(reference)}` } };
}
