import { type Clock } from '../../clock';
import { type ResilienceOptions } from '../resilience/resilience-options';
import { MerchantAccounts } from '../merchant-accounts';
import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome, type UnknownOutcome } from '../payment-outcome';
import { type PaymentProvider } from '../payment-provider';
import { type RefundRequest } from '../refund-request';
import { type AlipayAnswer, mismatched } from './alipay-answer';
import { AlipayGateway, type AlipayMethod } from './alipay-gateway';
import { AlipayNotifications } from './alipay-notifications';
import { type AlipayOptions, resolveAlipayOptions } from './alipay-options';
import { toCloseOutcome, toRefusedClose } from './map-close';
import { toConfirmedRefund, toRefundOutcome } from './map-refund';
import { ALIPAY_CURRENCY, toQueryOutcome } from './map-trade';
import { toYuan } from './yuan';

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
      return { type: 'UNKNOWN', reason: `Alipay cannot refund ${amount} minor units of ${currency}` };
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
      return { type: 'UNKNOWN', reason: `no Alipay merchant is configured for account "${merchantAccount ?? ''}"` };
    }
    if (reference.length > MAX_REFERENCE_LENGTH) {
      return { type: 'UNKNOWN', reason: `"${reference}" is too long for an out_trade_no (${MAX_REFERENCE_LENGTH})` };
    }
    // Alipay's own number, if it is known, because a reference may have several payments.
    const subject: Subject = tradeNo === undefined ? ['out_trade_no', reference] : ['trade_no', tradeNo];
    const answer = await gateway.ask(method, { [subject[0]]: subject[1], ...more }, signal);
    return answer.type === 'VERIFIED' ? checkSubject(answer, subject, gateway.sellerId) : answer;
  }
}

/** The field that names the trade, and its value. */
type Subject = readonly [field: 'out_trade_no' | 'trade_no', value: string];

/** Refusals, and refund queries that found nothing, may omit the trade, but must not name another one. */
function checkSubject(answer: AlipayAnswer, [field, value]: Subject, sellerId: string): AlipayAnswer | UnknownOutcome {
  const { [field]: named, seller_id: seller } = answer.fields;
  const mayBeSilent = answer.code !== '10000' || answer.method === 'alipay.trade.fastpay.refund.query';
  if (named === undefined ? !mayBeSilent : named !== value) return mismatched(answer, 'trade');
  return seller === undefined || seller === sellerId ? answer : mismatched(answer, 'merchant');
}
