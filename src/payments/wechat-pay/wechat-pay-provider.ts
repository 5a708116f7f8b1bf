import { type Clock } from '../../clock';
import { type ResilienceOptions } from '../resilience/resilience-options';
import { MerchantAccounts } from '../merchant-accounts';
import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome, type UnknownOutcome } from '../payment-outcome';
import { type PaymentProvider } from '../payment-provider';
import { type RefundRequest } from '../refund-request';
import { toCloseOutcome, toRefusedCloseOutcome } from './map-close';
import { toQueryOutcome } from './map-query';
import { isRefusal, toRefundOutcome, toRefusedRefundOutcome } from './map-refund';
import { type WechatPayCall, WechatPayClient } from './wechat-pay-client';
import { WechatPayNotifications } from './wechat-pay-notifications';
import {
  type ResolvedWechatPayMerchant,
  resolveWechatPayOptions,
  WECHAT_PAY_RESILIENCE_DEFAULTS,
  type WechatPayOptions,
} from './wechat-pay-options';

/** References that WeChat Pay accepts as out_trade_no. */
const REFERENCE = /^[0-9A-Za-z_\-*|]{6,32}$/;

interface Merchant {
  readonly identity: ResolvedWechatPayMerchant;
  readonly client: WechatPayClient;
}

/**
 * WeChat Pay, API v3, for direct merchants (not for sub-merchants of service providers). Works for all payment methods
 * (native, JSAPI, app, H5), which share query, close, and refund. Never throws.
 */
export class WechatPayProvider implements PaymentProvider {
  readonly name: string;
  readonly notifications: WechatPayNotifications;
  readonly resilienceDefaults: ResilienceOptions = WECHAT_PAY_RESILIENCE_DEFAULTS;
  readonly refundsInPart = true;
  private readonly merchants: MerchantAccounts<Merchant>;

  /** @throws InvalidOptionsError with every invalid option. */
  constructor(options: WechatPayOptions, clock: Clock) {
    const { name, baseUrl, merchants } = resolveWechatPayOptions(options);
    this.name = name;
    this.notifications = new WechatPayNotifications(new MerchantAccounts(merchants), clock);
    this.merchants = new MerchantAccounts(
      Object.fromEntries(
        Object.entries(merchants).map(([account, identity]) => [
          account,
          { identity, client: new WechatPayClient(identity, baseUrl, clock) },
        ]),
      ),
    );
  }

  get defaultAccount(): string | null {
    return this.merchants.defaultAccount;
  }

  hasAccount(account: string): boolean {
    return this.merchants.has(account);
  }

  async query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    const merchant = this.merchantOf(attempt);
    return 'type' in merchant ? merchant : queryPayment(merchant, attempt, signal);
  }

  /** May take two calls, because a query follows a refused close. */
  async close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    const merchant = this.merchantOf(attempt);
    if ('type' in merchant) return merchant;
    const path = `${pathOf(attempt)}/close`;
    const answer = await merchant.client.call(
      { method: 'POST', path, body: { mchid: merchant.identity.mchid } },
      signal,
    );
    if (answer.type === 'UNKNOWN') return answer;
    return toCloseOutcome(answer) ?? toRefusedCloseOutcome(answer, await queryPayment(merchant, attempt, signal));
  }

  /** May take two calls, because a refund that is pending or refused is queried. */
  async refund(request: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    const merchant = this.merchantOf(request.attempt);
    if ('type' in merchant) return merchant;
    const body = refundBody(request);
    if (!body) return { type: 'UNKNOWN', reason: 'WeChat Pay accepts no amount above 2^53' };
    const answer = await merchant.client.call({ method: 'POST', path: '/v3/refund/domestic/refunds', body }, signal);
    if (answer.type === 'UNKNOWN') return answer;
    const outcome = toRefundOutcome(answer, request);
    if (outcome.type !== 'PENDING' && !isRefusal(answer)) return outcome;
    // WeChat Pay may repeat its answer to the first call, so a query tells the current state.
    const found = await merchant.client.call(refundQuery(request), signal);
    if (found.type === 'UNKNOWN') return outcome.type === 'PENDING' ? outcome : found;
    if (outcome.type !== 'PENDING') return toRefusedRefundOutcome(answer, found, request);
    const standing = toRefundOutcome(found, request);
    return standing.type === 'UNKNOWN' ? outcome : standing;
  }

  private merchantOf({ merchantAccount, reference }: PaymentAttemptRef): Merchant | UnknownOutcome {
    const merchant = this.merchants.of(merchantAccount);
    if (!merchant) {
      return {
        type: 'UNKNOWN',
        reason: `no merchant account "${merchantAccount ?? ''}" is configured for ${this.name}`,
      };
    }
    if (REFERENCE.test(reference)) return merchant;
    const reason = `reference ${JSON.stringify(reference)} cannot be an out_trade_no: 6 to 32 of 0-9 A-Z a-z _ - * |`;
    return { type: 'UNKNOWN', reason };
  }
}

async function queryPayment(
  { client, identity }: Merchant,
  attempt: PaymentAttemptRef,
  signal: AbortSignal,
): Promise<QueryOutcome> {
  const call = { method: 'GET', path: pathOf(attempt), query: { mchid: identity.mchid } } as const;
  const answer = await client.call(call, signal);
  return answer.type === 'UNKNOWN' ? answer : toQueryOutcome(answer, identity, attempt);
}

function pathOf({ reference }: PaymentAttemptRef): string {
  return `/v3/pay/transactions/out-trade-no/${encodeURIComponent(reference)}`;
}

function refundQuery({ refundNumber }: RefundRequest): WechatPayCall {
  return { method: 'GET', path: `/v3/refund/domestic/refunds/${encodeURIComponent(refundNumber)}` };
}

/** Undefined if an amount would be rounded. */
function refundBody(request: RefundRequest): Record<string, unknown> | undefined {
  const [refund, total] = [Number(request.amount), Number(request.paidAmount)];
  if (!Number.isSafeInteger(refund) || !Number.isSafeInteger(total)) return undefined;
  return {
    // WeChat Pay's own number, if it is known, because a reference may have several payments.
    ...(request.transactionId === undefined
      ? { out_trade_no: request.attempt.reference }
      : { transaction_id: request.transactionId }),
    out_refund_no: request.refundNumber,
    ...(request.reason === '' ? {} : { reason: request.reason.slice(0, 80) }),
    amount: { refund, total, currency: request.currency },
  };
}
