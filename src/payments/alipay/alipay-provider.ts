import { type Clock } from '../../clock';
import {
  type ResilienceOptions,
  type PaymentAttemptRef,
  type CloseOutcome,
  type QueryOutcome,
  type RefundOutcome,
  type UnknownOutcome,
  type PaymentProvider,
  type RefundRequest,
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
  ignored,
  rejected,
  unknown,
} from '../payment-provider';
import { MerchantAccounts } from '../payment-providers';
import {
  type AlipayAnswer,
  mismatched,
  toCloseOutcome,
  toRefusedClose,
  toConfirmedRefund,
  toRefundOutcome,
  ALIPAY_CURRENCY,
  toQueryOutcome,
  toYuan,
  pick,
  fromBeijingTime,
  fromYuan,
} from './alipay-answer';
import { AlipayGateway, type AlipayMethod, type AlipayOptions, resolveAlipayOptions } from './alipay-gateway';

/** Alipay publishes no limit per merchant, so this starts with a cautious 50 calls per second. */
export const ALIPAY_RESILIENCE_DEFAULTS: ResilienceOptions = Object.freeze({ ratePerSecond: 50 });

/** Alipay's limit for out_trade_no, in characters. */
const MAX_REFERENCE_LENGTH = 64;

/**
 * Alipay payments through `alipay.trade.*`, for any number of merchants. Trusts only answers that Alipay signed.
 * Never throws and never cancels a trade. Wrap it in ResilientProvider.
 */
export class AlipayProvider implements PaymentProvider {
  readonly name: string;
  readonly resilienceDefaults = ALIPAY_RESILIENCE_DEFAULTS;
  readonly refundsInPart = true;
  readonly notifications: AlipayNotifications;
  private readonly gateways: MerchantAccounts<AlipayGateway>;

  /** @throws InvalidOptionsError with every invalid option. */
  constructor(
    options: AlipayOptions,
    private readonly clock: Clock,
  ) {
    const { name, merchants, gateway, timeoutMs } = resolveAlipayOptions(options);
    const connect = Object.entries(merchants).map(([account, merchant]) => {
      return [account, new AlipayGateway(merchant, { gateway, timeoutMs }, clock)] as const;
    });
    this.name = name;
    this.gateways = new MerchantAccounts(Object.fromEntries(connect));
    this.notifications = new AlipayNotifications(this.gateways);
  }

  get defaultAccount(): string | null {
    return this.gateways.defaultAccount;
  }

  hasAccount(account: string): boolean {
    return this.gateways.has(account);
  }

  async query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    const answer = await this.ask('alipay.trade.query', attempt, {}, signal);
    return answer.type === 'VERIFIED' ? toQueryOutcome(answer, attempt, this.clock) : answer;
  }

  async close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    const answer = await this.ask('alipay.trade.close', attempt, {}, signal);
    if (answer.type !== 'VERIFIED') return answer;
    const outcome = toCloseOutcome(answer);
    return outcome.type === 'ASK' ? toRefusedClose(await this.query(attempt, signal)) : outcome;
  }

  async refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    const { attempt, refundNumber, amount, currency, reason } = refund;
    if (currency !== ALIPAY_CURRENCY || amount <= 0n) {
      return unknown(`Alipay cannot refund ${amount} minor units of ${currency}`);
    }
    const trade = { ...attempt, tradeNo: refund.transactionId };
    const order = { out_request_no: refundNumber, refund_amount: toYuan(amount), refund_reason: reason };
    const answer = await this.ask('alipay.trade.refund', trade, order, signal);
    if (answer.type !== 'VERIFIED') return answer;
    const outcome = toRefundOutcome(answer, refund);
    if (outcome.type !== 'ASK') return outcome;
    const question = { out_request_no: refundNumber };
    const confirmation = await this.ask('alipay.trade.fastpay.refund.query', trade, question, signal);
    return confirmation.type === 'VERIFIED' ? toConfirmedRefund(confirmation, answer, refund) : confirmation;
  }

  private async ask(
    method: AlipayMethod,
    { reference, merchantAccount, tradeNo }: PaymentAttemptRef & { readonly tradeNo?: string | undefined },
    more: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AlipayAnswer | UnknownOutcome> {
    const gateway = this.gateways.of(merchantAccount);
    if (!gateway) {
      return unknown(`no Alipay merchant is configured for account "${merchantAccount ?? ''}"`);
    }
    if (reference.length > MAX_REFERENCE_LENGTH) {
      return unknown(`"${reference}" is too long for an out_trade_no (${MAX_REFERENCE_LENGTH})`);
    }
    // Alipay's own number, if it is known, because a reference may have several payments.
    const subject: Subject = tradeNo === undefined ? ['out_trade_no', reference] : ['trade_no', tradeNo];
    const answer = await gateway.ask(method, { [subject[0]]: subject[1], ...more }, signal);
    return answer.type === 'VERIFIED' ? checkSubject(answer, subject, gateway.sellerId) : answer;
  }
}

type Subject = readonly [field: 'out_trade_no' | 'trade_no', value: string];

/** Refusals, and refund queries that found nothing, may omit the trade, but must not name another one. */
function checkSubject(answer: AlipayAnswer, [field, value]: Subject, sellerId: string): AlipayAnswer | UnknownOutcome {
  const { [field]: named, seller_id: seller } = answer.fields;
  const mayBeSilent = answer.code !== '10000' || answer.method === 'alipay.trade.fastpay.refund.query';
  if (named === undefined ? !mayBeSilent : named !== value) return mismatched(answer, 'trade');
  return seller === undefined || seller === sellerId ? answer : mismatched(answer, 'merchant');
}

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
class AlipayNotifications implements NotificationReader {
  constructor(private readonly gateways: MerchantAccounts<AlipayGateway>) {}

  async read({ rawBody }: NotificationRequest): Promise<Notification> {
    if (countParameters(rawBody) > MAX_PARAMETERS) return distrusted(`it has more than ${MAX_PARAMETERS} parameters`);
    const params = parseForm(rawBody);
    if (!params) return distrusted('a parameter occurs twice');
    // Only RSA2 is accepted. The sender chooses this parameter and could ask for SHA-1.
    if (params['sign_type'] !== 'RSA2') return distrusted('it is not signed by RSA2');
    const found = this.gateways.entries().find(([, gateway]) => gateway.appId === params['app_id']);
    if (!found) return distrusted('no configured merchant has its app_id');
    const [merchantAccount, gateway] = found;
    if (!gateway.isSigned(params)) return distrusted('its signature is wrong');
    if (params['seller_id'] !== gateway.sellerId) return distrusted("its seller_id is not the merchant's");
    return interpret(params, merchantAccount);
  }

  reply(verdict: NotificationVerdict): NotificationReply {
    return REPLIES[verdict];
  }
}

/** Interprets a verified notification. Unless it is clearly a payment, the payment is looked up. */
function interpret(params: Params, merchantAccount: string): Notification {
  const { out_trade_no: reference, trade_status: status } = params;
  if (!reference) return ignored('it names no trade');
  if (status === 'WAIT_BUYER_PAY') return ignored('the buyer has not paid yet');
  const evidence = pick(params, EVIDENCE_FIELDS);
  const isPaid = status === 'TRADE_SUCCESS' || status === 'TRADE_FINISHED';
  const isAmbiguous = Object.values(params).some((value) => AMBIGUOUS_VALUE.test(value));
  const isClear = !REFUND_FIELDS.some((name) => params[name]) && !isAmbiguous;
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

function distrusted(why: string): Notification {
  return rejected(`the notification is not trusted: ${why}`);
}
