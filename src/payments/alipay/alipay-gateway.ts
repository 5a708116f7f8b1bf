import { type Clock } from '../../clock';
import { withDeadline } from '../resilience/with-deadline';
import { type UnknownOutcome } from '../payment-outcome';
import { type AlipayAnswer } from './alipay-answer';
import { type ResolvedAlipayMerchant } from './alipay-options';
import { toBeijingTime } from './beijing-time';
import { StrictAlipaySdk } from './strict-alipay-sdk';
import { UntrustedAnswerError } from './untrusted-answer-error';

/**
 * The methods in use. Canceling a trade is left out on purpose: it refunds the money if the buyer has just paid.
 */
export type AlipayMethod =
  'alipay.trade.query' | 'alipay.trade.close' | 'alipay.trade.refund' | 'alipay.trade.fastpay.refund.query';

interface GatewayOptions {
  readonly gateway: string;
  readonly timeoutMs: number;
}

/** Signed calls for one merchant. Trusts only answers that Alipay signed. */
export class AlipayGateway {
  readonly appId: string;
  readonly sellerId: string;
  private readonly sdk: StrictAlipaySdk;

  constructor(
    merchant: ResolvedAlipayMerchant,
    private readonly options: GatewayOptions,
    private readonly clock: Clock,
  ) {
    this.appId = merchant.appId;
    this.sellerId = merchant.sellerId;
    this.sdk = new StrictAlipaySdk({
      appId: merchant.appId,
      privateKey: merchant.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      keyType: 'PKCS8',
      alipayPublicKey: merchant.alipayPublicKey.export({ format: 'pem', type: 'spki' }).toString(),
      gateway: options.gateway,
      timeout: options.timeoutMs,
      camelcase: false,
    });
  }

  /** Never rejects. An answer without a valid signature is UNKNOWN. */
  async ask(
    method: AlipayMethod,
    bizContent: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<AlipayAnswer | UnknownOutcome> {
    // The SDK sends the local time of the process. Alipay reads it as Beijing time and rejects it.
    const params = { timestamp: toBeijingTime(this.clock.now()), bizContent };
    try {
      const call = (): Promise<unknown> => this.sdk.exec(method, params, { validateSign: true });
      const result = await withDeadline(this.clock, this.options.timeoutMs, signal, call);
      if (result.type === 'value') return toAnswer(method, result.value);
      if (result.type === 'aborted') return { type: 'UNKNOWN', reason: 'gave up waiting for the answer' };
      return { type: 'UNKNOWN', reason: `no answer within ${this.options.timeoutMs} ms`, outage: true };
    } catch (error) {
      return toUnknown(method, error);
    }
  }

  /** Whether Alipay signed these parameters of a notification. Check `sign_type` first: the sender chooses it. */
  isSigned(params: Readonly<Record<string, string>>): boolean {
    return this.sdk.checkNotifySignV2(params);
  }
}

function toAnswer(method: string, body: unknown): AlipayAnswer {
  const strings = Object.entries(body ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  // No prototype, because fields may have any name.
  const fields = Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(strings));
  return { type: 'VERIFIED', method, code: fields['code'] ?? '', subCode: fields['sub_code'] ?? '', fields };
}

/** Maps every error of the SDK to UNKNOWN, and tells outages from forged answers. */
function toUnknown(method: string, error: unknown): UnknownOutcome {
  if (error instanceof UntrustedAnswerError) {
    return { type: 'UNKNOWN', reason: `${method} is not trusted: ${error.message}`, untrusted: true };
  }
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  // Only connection failures have a cause. The SDK puts the HTTP status into the message.
  const status = Number(/status: (\d{3})/.exec(message)?.[1]);
  const isOutage = Number.isNaN(status) ? cause instanceof Error && !(cause instanceof SyntaxError) : status >= 500;
  return { type: 'UNKNOWN', reason: `${method} got no usable answer: ${message}`, ...(isOutage && { outage: true }) };
}
