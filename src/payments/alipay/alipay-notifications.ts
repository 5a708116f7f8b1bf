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

/** Fields that are kept as evidence. The others describe the buyer and the goods. */
const EVIDENCE_FIELDS = [
  ...['notify_id', 'notify_type', 'notify_time', 'app_id', 'seller_id', 'out_trade_no', 'trade_no', 'trade_status'],
  ...['total_amount', 'receipt_amount', 'buyer_pay_amount', 'trans_currency', 'gmt_payment', 'gmt_refund'],
  ...['gmt_close', 'refund_fee', 'out_biz_no'],
];
/** Fields that only notifications about refunds have. */
const REFUND_FIELDS = ['refund_fee', 'gmt_refund'];
/** Alipay signs `a=1&b=2` without escaping, so a value like this could also be two parameters. */
const AMBIGUOUS_VALUE = /&\w+=/;
/** Alipay sends about 30. Parsing and sorting 100,000 takes 0.1 s, and happens before the signature is checked. */
const MAX_PARAMETERS = 200;
/** Alipay redelivers unless the answer is exactly `success`: 8 deliveries in 25 hours. */
const REPLIES: Readonly<Record<NotificationVerdict, NotificationReply>> = {
  accepted: { status: 200, contentType: 'text/plain', body: 'success' },
  later: { status: 500, contentType: 'text/plain', body: 'fail' },
  rejected: { status: 400, contentType: 'text/plain', body: 'fail' },
};

/** Reads what Alipay posts to `notify_url`: a form with an RSA2 signature over the sorted, decoded parameters. */
export class AlipayNotifications implements NotificationReader {
  constructor(private readonly gateways: MerchantAccounts<AlipayGateway>) {}

  async read({ rawBody }: NotificationRequest): Promise<Notification> {
    if (countParameters(rawBody) > MAX_PARAMETERS) return rejected(`it has more than ${MAX_PARAMETERS} parameters`);
    const params = parseForm(rawBody);
    if (!params) return rejected('a parameter occurs twice');
    // Only RSA2 is accepted. The sender chooses this parameter and could ask for SHA-1.
    if (params['sign_type'] !== 'RSA2') return rejected('it is not signed by RSA2');
    const found = this.gateways.entries().find(([, gateway]) => gateway.appId === params['app_id']);
    if (!found) return rejected('no configured merchant has its app_id');
    const [merchantAccount, gateway] = found;
    if (!gateway.isSigned(params)) return rejected('its signature is wrong');
    if (params['seller_id'] !== gateway.sellerId) return rejected("its seller_id is not the merchant's");
    return interpret(params, merchantAccount);
  }

  reply(verdict: NotificationVerdict): NotificationReply {
    return REPLIES[verdict];
  }
}

/** Interprets a verified notification. Unless it is clearly a payment, the payment is looked up. */
function interpret(params: Params, merchantAccount: string): Notification {
  const { out_trade_no: reference, trade_status: status } = params;
  if (!reference) return { type: 'IGNORED', reason: 'it names no trade' };
  if (status === 'WAIT_BUYER_PAY') return { type: 'IGNORED', reason: 'the buyer has not paid yet' };
  const evidence = pick(params, EVIDENCE_FIELDS);
  const isPaid = status === 'TRADE_SUCCESS' || status === 'TRADE_FINISHED';
  const isClear = !REFUND_FIELDS.some((name) => params[name]) && !Object.values(params).some(isAmbiguous);
  const payment = isPaid && isClear ? readPayment(params) : undefined;
  if (!payment) return { type: 'STATUS_CHANGED', reference, merchantAccount, evidence };
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

/** Undefined if a name occurs twice, because it is not clear which value counts. */
function parseForm(body: Buffer): Params | undefined {
  const pairs = [...new URLSearchParams(body.toString('utf8'))];
  const params = Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(pairs));
  return Object.keys(params).length === pairs.length ? params : undefined;
}

function rejected(why: string): Notification {
  return { type: 'REJECTED', reason: `the notification is not trusted: ${why}` };
}
