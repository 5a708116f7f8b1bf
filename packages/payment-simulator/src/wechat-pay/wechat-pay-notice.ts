import { createHash } from 'node:crypto';
import { type LedgerEntry } from '../ledger-entry';
import { type PaymentEvent } from '../payment-hooks';
import { type NotificationPost } from '../protocol';
import { beijingTime } from './beijing-time';
import { sealForShop } from './seal-for-shop';
import { signForShop } from './sign-for-shop';
import { type WechatPayPlatformKey, type WechatPaySimulatedMerchant } from './wechat-pay-merchants';
import { showTransaction } from './wechat-pay-transactions';

const WORDS = {
  paid: { type: 'TRANSACTION.SUCCESS', status: 'SUCCESS', summary: '支付成功' },
  refunded: { type: 'REFUND.SUCCESS', status: 'SUCCESS', summary: '退款成功' },
  'refund-failed': { type: 'REFUND.ABNORMAL', status: 'ABNORMAL', summary: '退款异常' },
} as const;

/** What WeChat Pay posts; of a closed or disputed payment it posts nothing. */
export function wechatPayNotice(
  entry: LedgerEntry,
  event: Exclude<PaymentEvent, 'closed' | 'disputed'>,
  merchant: WechatPaySimulatedMerchant,
  key: WechatPayPlatformKey,
  now: number,
): NotificationPost {
  const about = event === 'paid' ? 'transaction' : 'refund';
  const resource =
    event === 'paid' ? showTransaction(entry, 'PAID', merchant) : refundResource(entry, WORDS[event].status, merchant);
  const body = JSON.stringify({
    // The same for every delivery of it.
    id: createHash('sha256').update(`${entry.reference} ${event} ${entry.refundedAmount}`).digest('hex').slice(0, 36),
    create_time: beijingTime(now),
    event_type: WORDS[event].type,
    resource_type: 'encrypt-resource',
    summary: WORDS[event].summary,
    resource: { original_type: about, ...sealForShop(JSON.stringify(resource), merchant.options.apiV3Key, about) },
  });
  return { headers: { 'Content-Type': 'application/json', ...signForShop(key, body, now) }, body };
}

function refundResource(
  entry: LedgerEntry,
  status: string,
  { options: { mchid } }: WechatPaySimulatedMerchant,
): Readonly<Record<string, unknown>> {
  const refund = entry.refunds.findLast((one) => one.status === (status === 'SUCCESS' ? 'REFUNDED' : 'FAILED'));
  const [total, given] = [Number(entry.paidAmount ?? entry.amount), Number(refund?.amount ?? 0)];
  return {
    ...{ mchid, out_trade_no: entry.reference, transaction_id: entry.transactionId },
    ...{ out_refund_no: refund?.number, refund_id: refund?.refundId, refund_status: status },
    ...(refund?.refundedAt && { success_time: beijingTime(refund.refundedAt) }),
    ...{
      user_received_account: '支付用户零钱',
      amount: { total, refund: given, payer_total: total, payer_refund: given },
    },
  };
}
