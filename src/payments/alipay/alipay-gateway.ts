import { isDeepStrictEqual } from 'node:util';
import { AlipaySdk } from 'alipay-sdk';
import { z } from 'zod';
import { type Clock } from '../../clock';
import { CodedError } from '../../errors';
import { withDeadline } from '../resilience/call-slots';
import { type UnknownOutcome } from '../payment-provider';
import { type AlipayAnswer, toBeijingTime } from './alipay-answer';
import { type ResolvedAlipayMerchant } from './alipay-options';

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

/** The codes of an unsigned refusal. Shown to the operator, but not trusted. */
const claim = z.object({ code: z.string().max(8), sub_code: z.string().max(64).default('') });

/**
 * The SDK with a strict signature check. The SDK finds the signed text by searching for names, but returns what
 * JSON.parse finds: of `{"x_response":{A},"sign":"...","x_response":{B}}` it checks A and returns B.
 */
class StrictAlipaySdk extends AlipaySdk {
  /** @throws UntrustedAnswerError unless the returned content is exactly what Alipay signed. */
  override checkResponseSign(raw: string, responseKey: string, sign: string, traceId: string): void {
    const body = parse(raw) ?? {};
    // Some refusals are unsigned, for example the one for a wrong app id.
    if (typeof sign !== 'string' || sign === '') {
      const { data } = claim.safeParse(body[responseKey] ?? body['error_response']);
      throw new UntrustedAnswerError(`it is not signed${data ? ` (it says ${data.code} ${data.sub_code})` : ''}`);
    }
    try {
      super.checkResponseSign(raw, responseKey, sign, traceId);
    } catch {
      // The SDK's message quotes the whole answer, including data about the buyer.
      throw new UntrustedAnswerError('its signature is wrong');
    }
    if (!isDeepStrictEqual(parse(this.getSignStr(raw, responseKey)), body[responseKey])) {
      throw new UntrustedAnswerError('the signed text differs from the returned content');
    }
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** An answer of the gateway has no valid signature. Becomes an UNKNOWN outcome and never leaves this folder. */
class UntrustedAnswerError extends CodedError {
  constructor(why: string) {
    super('ALIPAY_ANSWER_UNTRUSTED', why);
  }
}
