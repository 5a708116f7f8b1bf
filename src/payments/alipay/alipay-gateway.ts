import { createPublicKey, type KeyObject, createPrivateKey } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { AlipaySdk } from 'alipay-sdk';
import { CodedError, parseJson } from '../../errors';
import { type Clock } from '../../clock';
import { withDeadline } from '../resilience/resilient-provider';
import { type UnknownOutcome, parseOptions, unknown, untrusted } from '../payment-provider';
import { type AlipayAnswer, toBeijingTime } from './alipay-answer';

/** Alipay uses SHA256withRSA and requires keys of at least 2048 bits. */
const MIN_BITS = 2_048;

const privateKey = z.string().transform(keyReader(readPrivateKey, 'must be an RSA private key of 2048 bits or more'));

const publicKey = z.string().transform(keyReader(readPublicKey, 'must be an RSA public key of 2048 bits or more'));

const merchant = z.strictObject({
  appId: z.string().regex(/^\d{1,32}$/, 'must be the digits of an app id'),
  sellerId: z.string().regex(/^\d{16}$/, "must be the 16 digits of the merchant's Alipay account (2088...)"),
  privateKey,
  alipayPublicKey: publicKey,
});

const schema = z.strictObject({
  name: z.string().min(1).max(64).default('alipay'),
  merchants: z.record(z.string().min(1).max(64), merchant),
  gateway: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .default('https://openapi.alipay.com/gateway.do'),
  timeoutMs: z.int().min(1).max(8_000).default(8_000),
});

/** One Alipay merchant. Keys are PEM, or plain base64 as Alipay's key tool and console show them. */
export interface AlipayMerchant {
  /** The app id on the open platform. Unique among the merchants, because notifications are matched by it. */
  readonly appId: string;
  /** The Alipay account that receives the money (PID): 16 digits, usually `2088...`. */
  readonly sellerId: string;
  /** The app's private key, PKCS#8 or PKCS#1. It signs the requests. */
  readonly privateKey: string;
  /** Alipay's public key for this app, not the app's own public key. It verifies answers and notifications. */
  readonly alipayPublicKey: string;
}

/** Options of AlipayProvider. */
export interface AlipayOptions {
  /** Name of the provider, which payment attempts refer to. @default "alipay" */
  readonly name?: string;
  /** Merchants by account. Attempts without an account belong to the only merchant, or to the one called "default". */
  readonly merchants: Readonly<Record<string, AlipayMerchant>>;
  /** URL of the gateway, of the sandbox, or of the simulator. @default "https://openapi.alipay.com/gateway.do" */
  readonly gateway?: string;
  /** Maximum duration of a request in milliseconds, even if its caller gave up. At most 8000. @default 8000 */
  readonly timeoutMs?: number;
}

type ResolvedAlipayOptions = Readonly<z.output<typeof schema>>;

export type ResolvedAlipayMerchant = Readonly<z.output<typeof merchant>>;

/** @throws InvalidOptionsError with every invalid option, without keys. */
export function resolveAlipayOptions(options: AlipayOptions): ResolvedAlipayOptions {
  return Object.freeze(parseOptions('Alipay', schema, options, ({ merchants }) => findMixUps(merchants)));
}

function findMixUps(merchants: ResolvedAlipayOptions['merchants']): string[] {
  const problems: string[] = [];
  const accountOf = new Map<string, string>();
  for (const [account, { appId, privateKey: ours, alipayPublicKey }] of Object.entries(merchants)) {
    const other = accountOf.get(appId);
    if (other !== undefined) problems.push(`merchants.${account}.appId: is also used by merchant "${other}"`);
    accountOf.set(appId, account);
    // The console shows both keys on one page. With the wrong one, every answer would look forged.
    if (createPublicKey(ours).equals(alipayPublicKey)) {
      problems.push(`merchants.${account}.alipayPublicKey: is the app's own public key; use Alipay's`);
    }
  }
  return accountOf.size > 0 ? problems : ['merchants: name at least one'];
}

function keyReader(read: (text: string) => KeyObject | undefined, message: string) {
  return (text: string, context: z.RefinementCtx): KeyObject => {
    const key = read(text);
    if (key) return key;
    context.addIssue({ code: 'custom', message: `${message}, PEM or base64` });
    return z.NEVER;
  };
}

/** Reads an RSA private key: PEM, or plain base64 as Alipay's key tool writes it. Undefined if it is not one. */
function readPrivateKey(text: string): KeyObject | undefined {
  return firstRsa(
    () => createPrivateKey(text),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs8' }),
    () => createPrivateKey({ key: der(text), format: 'der', type: 'pkcs1' }),
  );
}

/** Reads an RSA public key from PEM, or from plain base64 as Alipay's console shows it. Undefined if it is not one. */
function readPublicKey(text: string): KeyObject | undefined {
  // createPublicKey derives the public half of a private key, but a private key here is a configuration mistake.
  if (text.includes('PRIVATE KEY')) return undefined;
  return firstRsa(
    () => createPublicKey(text),
    () => createPublicKey({ key: der(text), format: 'der', type: 'spki' }),
  );
}

function der(text: string): Buffer {
  return Buffer.from(text, 'base64');
}

function firstRsa(...readers: readonly (() => KeyObject)[]): KeyObject | undefined {
  for (const read of readers) {
    try {
      const key = read();
      if (key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_BITS) return key;
    } catch {
      // Not in this format.
    }
  }
  return undefined;
}

/** The methods in use. Canceling a trade is left out on purpose: it refunds the money if the buyer has just paid. */
export type AlipayMethod =
  'alipay.trade.query' | 'alipay.trade.close' | 'alipay.trade.refund' | 'alipay.trade.fastpay.refund.query';

/** Signed calls for one merchant. Trusts only answers that Alipay signed. */
export class AlipayGateway {
  readonly appId: string;
  readonly sellerId: string;
  private readonly sdk: StrictAlipaySdk;

  constructor(
    merchant: ResolvedAlipayMerchant,
    private readonly options: { readonly gateway: string; readonly timeoutMs: number },
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
      if (result.type === 'aborted') return unknown('gave up waiting for the answer');
      return unknown(`no answer within ${this.options.timeoutMs} ms`, { outage: true });
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
    return untrusted(`${method} is not trusted: ${error.message}`);
  }
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  // Only connection failures have a cause. The SDK puts the HTTP status into the message.
  const status = Number(/status: (\d{3})/.exec(message)?.[1]);
  const isOutage = Number.isNaN(status) ? cause instanceof Error && !(cause instanceof SyntaxError) : status >= 500;
  return unknown(`${method} got no usable answer: ${message}`, { outage: isOutage || undefined });
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
    const body = (parseJson(raw) ?? {}) as Record<string, unknown>;
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
    if (!isDeepStrictEqual(parseJson(this.getSignStr(raw, responseKey)), body[responseKey])) {
      throw new UntrustedAnswerError('the signed text differs from the returned content');
    }
  }
}

/** An answer of the gateway has no valid signature. Becomes an UNKNOWN outcome and never leaves this folder. */
class UntrustedAnswerError extends CodedError {
  constructor(why: string) {
    super('ALIPAY_ANSWER_UNTRUSTED', why);
  }
}
