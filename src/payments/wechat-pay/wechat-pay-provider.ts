import { z } from 'zod';
import { type Clock } from '../../clock';
import { parseJson } from '../../errors';
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
  toCloseOutcome,
  toRefusedCloseOutcome,
  toQueryOutcome,
  isRefusal,
  toRefundOutcome,
  toRefusedRefundOutcome,
  findMismatch,
  toPaid,
  transactionSchema,
} from './map-answers';
import { WechatPayClient } from './wechat-pay-client';
import {
  type ResolvedWechatPayMerchant,
  resolveWechatPayOptions,
  WECHAT_PAY_RESILIENCE_DEFAULTS,
  type WechatPayOptions,
  openSealed,
  sealedSchema,
  type SignedMessage,
  verifyMessage,
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
    if (!body) return unknown('WeChat Pay accepts no amount above 2^53');
    const answer = await merchant.client.call({ method: 'POST', path: '/v3/refund/domestic/refunds', body }, signal);
    if (answer.type === 'UNKNOWN') return answer;
    const outcome = toRefundOutcome(answer, request);
    if (outcome.type !== 'PENDING' && !isRefusal(answer)) return outcome;
    // WeChat Pay may repeat its answer to the first call, so a query tells the current state.
    const path = `/v3/refund/domestic/refunds/${encodeURIComponent(request.refundNumber)}`;
    const found = await merchant.client.call({ method: 'GET', path }, signal);
    if (found.type === 'UNKNOWN') return outcome.type === 'PENDING' ? outcome : found;
    if (outcome.type !== 'PENDING') return toRefusedRefundOutcome(answer, found, request);
    const standing = toRefundOutcome(found, request);
    return standing.type === 'UNKNOWN' ? outcome : standing;
  }

  private merchantOf({ merchantAccount, reference }: PaymentAttemptRef): Merchant | UnknownOutcome {
    const merchant = this.merchants.of(merchantAccount);
    if (!merchant) {
      return unknown(`no merchant account "${merchantAccount ?? ''}" is configured for ${this.name}`);
    }
    if (REFERENCE.test(reference)) return merchant;
    return unknown(`reference ${JSON.stringify(reference)} cannot be an out_trade_no: 6 to 32 of 0-9 A-Z a-z _ - * |`);
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

const notificationSchema = z.object({ id: z.string(), event_type: z.string(), resource: sealedSchema });

type Envelope = z.output<typeof notificationSchema>;

const refundSchema = z.object({
  mchid: z.string(),
  out_trade_no: z.string().min(1),
  out_refund_no: z.string(),
  refund_id: z.string().optional(),
  refund_status: z.string().optional(),
});

/** WeChat Pay redelivers until the answer is 200 or 204: 15 times within 24 h. */
const REPLIES: Readonly<Record<NotificationVerdict, NotificationReply>> = {
  accepted: { status: 204, body: '' },
  later: fail(500, 'not written down yet; deliver it again'),
  rejected: fail(401, 'not verified'),
};

/**
 * Reads WeChat Pay's notifications of payments and refunds. The merchant is named only in the encrypted part, so every
 * configured merchant that has the signing key is tried.
 */
class WechatPayNotifications implements NotificationReader {
  constructor(
    private readonly merchants: MerchantAccounts<ResolvedWechatPayMerchant>,
    private readonly clock: Clock,
  ) {}

  async read(request: NotificationRequest): Promise<Notification> {
    const message = toMessage(request);
    let reason: string | undefined;
    for (const [account, merchant] of this.merchants.entries()) {
      const verification = verifyMessage(message, merchant.platformKeys, this.clock.now());
      if (verification.type === 'UNVERIFIED') {
        // "Unknown key" is the weakest reason: a merchant that has the key knows what is wrong.
        if (verification.unknownSerial === undefined) reason = verification.reason;
        else reason ??= verification.reason;
        continue;
      }
      const notification = readVerified(message.rawBody, account, merchant);
      if (notification.type !== 'REJECTED') return notification;
      reason = notification.reason;
    }
    return rejected(`notification is not trusted: ${reason ?? 'no merchant is configured'}`);
  }

  reply(verdict: NotificationVerdict): NotificationReply {
    return REPLIES[verdict];
  }
}

function readVerified(rawBody: Buffer, account: string, merchant: ResolvedWechatPayMerchant): Notification {
  const envelope = notificationSchema.safeParse(parseJson(rawBody)).data;
  if (!envelope) return rejected('its body does not have the documented format');
  const plaintext = openSealed(envelope.resource, merchant.apiV3Key);
  if (plaintext === undefined) return rejected('its resource cannot be decrypted with the APIv3 key');
  const resource = parseJson(plaintext);
  if (envelope.event_type === 'TRANSACTION.SUCCESS') return readPayment(envelope, resource, account, merchant);
  if (envelope.event_type.startsWith('REFUND.')) return readRefund(envelope, resource, account, merchant);
  return ignored(`event ${JSON.stringify(envelope.event_type.slice(0, 64))} changes no payment`);
}

function readPayment(
  { id, event_type }: Envelope,
  resource: unknown,
  account: string,
  merchant: ResolvedWechatPayMerchant,
): Notification {
  const transaction = transactionSchema.safeParse(resource).data;
  if (!transaction) return rejected('its resource is not a payment');
  const reference = transaction.out_trade_no;
  const mismatch = findMismatch(transaction, merchant, reference);
  if (mismatch) return rejected(`it is about another merchant (${mismatch})`);
  const about = { reference, merchantAccount: account };
  const evidence = { notification: id, event_type, ...transaction };
  const paid = transaction.trade_state === 'SUCCESS' ? toPaid(transaction) : undefined;
  return paid ? { ...paid, ...about, evidence } : { type: 'STATUS_CHANGED', ...about, evidence };
}

function readRefund(
  { id, event_type }: Envelope,
  resource: unknown,
  account: string,
  merchant: ResolvedWechatPayMerchant,
): Notification {
  const refund = refundSchema.safeParse(resource).data;
  if (!refund) return rejected('its resource is not a refund');
  if (refund.mchid !== merchant.mchid) return rejected('it is about another merchant (mchid)');
  const evidence = { notification: id, event_type, ...refund };
  return { type: 'STATUS_CHANGED', reference: refund.out_trade_no, merchantAccount: account, evidence };
}

function toMessage({ headers, rawBody }: NotificationRequest): SignedMessage {
  return {
    rawBody,
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

function fail(status: number, message: string): NotificationReply {
  return { status, contentType: 'application/json', body: JSON.stringify({ code: 'FAIL', message }) };
}
