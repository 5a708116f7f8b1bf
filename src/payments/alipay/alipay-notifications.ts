import { type MerchantAccounts } from '../merchant-accounts';
import {
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
} from '../payment-notification';
import { pick } from './alipay-answer';
import { type AlipayGateway } from './alipay-gateway';
import { fromBeijingTime } from './beijing-time';
import { ALIPAY_CURRENCY } from './map-trade';
import { fromYuan } from './yuan';

type Params = Readonly<Record<string, string>>;

/** Kept as evidence. The others describe the buyer and the goods. */
const EVIDENCE_FIELDS = [
  ...['notify_id', 'notify_type', 'notify_time', 'app_id', 'seller_id', 'out_trade_no', 'trade_no', 'trade_status'],
  ...['total_amount', 'receipt_amount', 'buyer_pay_amount', 'trans_currency', 'gmt_payment', 'gmt_refund'],
  ...['gmt_close', 'refund_fee', 'out_biz_no'],
];
/** In a notification that is about money given back. */
const REFUND_FIELDS = ['refund_fee', 'gmt_refund'];
/** Signed is `a=1&b=2` with nothing escaped, so a value like this could be two parameters, or two could be one. */
const AMBIGUOUS_VALUE = /&\w+=/;
/** Alipay sends some thirty. Reading and sorting a hundred thousand would take 0.1 s before the signature is known. */
const MAX_PARAMETERS = 200;
/** Anything but exactly `success` makes Alipay repeat: 8 deliveries in 25 hours. */
const REPLIES: Readonly<Record<NotificationVerdict, NotificationReply>> = {
  accepted: { status: 200, contentType: 'text/plain', body: 'success' },
  later: { status: 500, contentType: 'text/plain', body: 'fail' },
  rejected: { status: 400, contentType: 'text/plain', body: 'fail' },
};

/** Reads what Alipay posts to `notify_url`: a form, signed by RSA2 over its sorted and decoded parameters. */
export class AlipayNotifications implements NotificationReader {
  constructor(private readonly gateways: MerchantAccounts<AlipayGateway>) {}

  async read({ rawBody }: NotificationRequest): Promise<Notification> {
    if (countParameters(rawBody) > MAX_PARAMETERS) return rejected(`it has more than ${MAX_PARAMETERS} parameters`);
    const params = parseForm(rawBody);
    if (!params) return rejected('a parameter is there twice');
    // Only RSA2 was agreed on; the parameter could ask for SHA-1.
    if (params['sign_type'] !== 'RSA2') return rejected('it is not signed by RSA2');
    const found = this.gateways.entries().find(([, gateway]) => gateway.appId === params['app_id']);
    if (!found) return rejected('its app_id is of no configured merchant');
    const [merchantAccount, gateway] = found;
    if (!gateway.isSigned(params)) return rejected('its signature is wrong');
    if (params['seller_id'] !== gateway.sellerId) return rejected("its seller_id is not the merchant's");
    return interpret(params, merchantAccount);
  }

  reply(verdict: NotificationVerdict): NotificationReply {
    return REPLIES[verdict];
  }
}

/** What Alipay certainly said. Where it is not a clear payment, the provider is asked instead. */
function interpret(params: Params, merchantAccount: string): Notification {
  const { out_trade_no: reference, trade_status: status } = params;
  if (!reference) return { type: 'IGNORED', reason: 'it is about no trade' };
  if (status === 'WAIT_BUYER_PAY') return { type: 'IGNORED', reason: 'the buyer has not paid yet' };
  const evidence = pick(params, EVIDENCE_FIELDS);
  const isPaid = status === 'TRADE_SUCCESS' || status === 'TRADE_FINISHED';
  const isClear = !REFUND_FIELDS.some((name) => params[name]) && !Object.values(params).some(isAmbiguous);
  const payment = isPaid && isClear ? readPayment(params) : undefined;
  if (!payment) return { type: 'NEWS', reference, merchantAccount, evidence };
  return { type: 'PAID', ...payment, reference, merchantAccount, evidence };
}

function readPayment(params: Params) {
  const { total_amount: total, trade_no: transactionId, gmt_payment: paidTime, trans_currency: other } = params;
  const amount = fromYuan(total);
  const paidAt = fromBeijingTime(paidTime);
  if (!amount || !paidAt || !transactionId || (other ?? ALIPAY_CURRENCY) !== ALIPAY_CURRENCY) return undefined;
  return { amount, currency: ALIPAY_CURRENCY, paidAt, transactionId };
}

function isAmbiguous(value: string): boolean {
  return AMBIGUOUS_VALUE.test(value);
}

function countParameters(body: Buffer): number {
  let count = 1;
  for (let at = body.indexOf('&'); at !== -1 && count <= MAX_PARAMETERS; at = body.indexOf('&', at + 1)) count += 1;
  return count;
}

/** undefined if a name comes twice: which one is meant is anybody's guess. */
function parseForm(body: Buffer): Params | undefined {
  const pairs = [...new URLSearchParams(body.toString('utf8'))];
  const params = Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(pairs));
  return Object.keys(params).length === pairs.length ? params : undefined;
}

function rejected(why: string): Notification {
  return { type: 'REJECTED', reason: `the notification is not to be believed: ${why}` };
}
