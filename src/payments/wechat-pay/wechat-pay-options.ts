import {
  type KeyObject,
  verify,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  X509Certificate,
} from 'node:crypto';
import { z } from 'zod';
import { isFreshTimestamp, MAX_SKEW_SECONDS } from '../http/http-exchange';
import { type ResilienceOptions, parseOptions } from '../payment-provider';

/** Prefix of the ids of WeChat Pay's public keys. Other serials are those of platform certificates. */
const PUBLIC_KEY_ID = /^PUB_KEY_ID_/;

/**
 * The keys that WeChat Pay signs with for one merchant, by serial. There are several while certificates are renewed or
 * replaced by a public key: WeChat Pay then picks one at random for each notification.
 */
export class PlatformKeys {
  private readonly bySerial = new Map<string, KeyObject>();

  constructor(keys: Iterable<readonly [serial: string, key: KeyObject]>) {
    for (const [serial, key] of keys) this.add(serial, key);
  }

  add(serial: string, key: KeyObject): void {
    // OpenSSL prints serials in lower or upper case. WeChat Pay sends upper case.
    this.bySerial.set(serial.toUpperCase(), key);
  }

  find(serial: string): KeyObject | undefined {
    return this.bySerial.get(serial.toUpperCase());
  }

  /** Whether the serial belongs to a certificate. Certificates can be downloaded, public keys cannot. */
  static isCertificate(serial: string): boolean {
    return /^[0-9a-f]{8,64}$/i.test(serial);
  }

  /**
   * Id of the configured public key. Every request names it as Wechatpay-Serial: during the change to public keys,
   * WeChat Pay otherwise signs its answer with the platform certificate.
   */
  get publicKeyId(): string | undefined {
    return [...this.bySerial.keys()].find((serial) => PUBLIC_KEY_ID.test(serial));
  }
}

/** An answer or a notification as received. */
export interface SignedMessage {
  /** Value of the header. Undefined if it is missing or repeated. */
  header(name: string): string | undefined;
  readonly rawBody: Buffer;
}

/** Whether WeChat Pay sent the message, and at what time by its clock. */
export type Verification =
  | { readonly type: 'VERIFIED'; readonly at: Date }
  | { readonly type: 'UNVERIFIED'; readonly reason: string; readonly unknownSerial?: string };

/** WeChat Pay sometimes sends wrong signatures with this prefix, to find shops that do not verify them. */
const PROBE = 'WECHATPAY/SIGNTEST/';

/** Checks the RSA-SHA256 signature over `timestamp \n nonce \n body \n` and that the timestamp is within ±300 s. */
export function verifyMessage(message: SignedMessage, keys: PlatformKeys, nowMs: number): Verification {
  const [timestamp, nonce, serial, signature] = ['timestamp', 'nonce', 'serial', 'signature'].map((name) =>
    message.header(`wechatpay-${name}`),
  );
  if (!timestamp || !nonce || !serial || !signature) return unverified('it is not signed');
  if (signature.startsWith(PROBE)) return unverified('its signature is a probe of WeChat Pay (WECHATPAY/SIGNTEST)');
  const key = keys.find(serial);
  if (!key) {
    const reason = `it is signed with the unknown platform key ${JSON.stringify(serial.slice(0, 64))}`;
    return { type: 'UNVERIFIED', reason, unknownSerial: serial };
  }
  const signed = Buffer.concat([Buffer.from(`${timestamp}\n${nonce}\n`), message.rawBody, Buffer.from('\n')]);
  if (!verify('sha256', signed, key, Buffer.from(signature, 'base64'))) return unverified('its signature is wrong');
  if (!isFreshTimestamp(timestamp, nowMs)) {
    const limit = `more than ${MAX_SKEW_SECONDS} s from this machine's clock; check NTP on this machine`;
    return unverified(`its timestamp ${JSON.stringify(timestamp.slice(0, 16))} is ${limit}`);
  }
  return { type: 'VERIFIED', at: new Date(Number(timestamp) * 1_000) };
}

function unverified(reason: string): Verification {
  return { type: 'UNVERIFIED', reason };
}

/** Data that WeChat Pay encrypted with the merchant's APIv3 key. */
export const sealedSchema = z.looseObject({
  algorithm: z.literal('AEAD_AES_256_GCM'),
  nonce: z.string().min(1).max(64),
  associated_data: z.string().default(''),
  ciphertext: z.string(),
});

const TAG_BYTES = 16;

/** Decrypts the data. Undefined if it has another key or was changed. */
export function openSealed(sealed: z.output<typeof sealedSchema>, apiV3Key: KeyObject): string | undefined {
  const bytes = Buffer.from(sealed.ciphertext, 'base64');
  return attempt(() => {
    // Without authTagLength, Node also accepts a tag of 4 bytes, which can be guessed.
    const decipher = createDecipheriv('aes-256-gcm', apiV3Key, sealed.nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(sealed.associated_data)).setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  });
}

/** An answer, verified or not. Server errors are mapped before. */
export interface WechatPayAnswer {
  readonly type: 'ANSWER';
  readonly status: number;
  readonly body: unknown;
  /** Error code in upper case and without `_`, because WeChat Pay's documentation spells the codes in two ways. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly verification: Verification;
  readonly retryAfterMs: number | undefined;
  /** WeChat Pay's request id, for its support. */
  readonly requestId: string | undefined;
}

/** One WeChat Pay merchant, with the values that the merchant platform shows. */
export interface WechatPayMerchant {
  /** Merchant number, digits. */
  readonly mchid: string;
  /** The only app of the merchant's payments. Answers about another app are not trusted. Absent: any app. */
  readonly appid?: string;
  /** Serial of the merchant's API certificate, hexadecimal. */
  readonly serialNo: string;
  /** The API certificate's private key, PEM (apiclient_key.pem). */
  readonly privateKey: string;
  /** APIv3 key, 32 bytes. It decrypts notifications and downloaded certificates. */
  readonly apiV3Key: string;
  /**
   * The keys that WeChat Pay signs with: public keys (PEM) by `PUB_KEY_ID_…`, and platform certificates (PEM) by
   * serial. Give both the old and the new ones while they change.
   */
  readonly platformKeys: Readonly<Record<string, string>>;
  /**
   * Download platform certificates when an answer is signed with an unknown one. Only for merchants that still have
   * platform certificates. @default false
   */
  readonly downloadPlatformCertificates?: boolean;
}

/** Options of WechatPayProvider. */
export interface WechatPayOptions {
  /** Name of the provider, which payment attempts refer to. @default "wechat-pay" */
  readonly name?: string;
  /** Merchants by merchant account. */
  readonly merchants: Readonly<Record<string, WechatPayMerchant>>;
  /** Without `/v3`. For the simulator, because WeChat Pay has no sandbox. @default "https://api.mch.weixin.qq.com" */
  readonly baseUrl?: string;
}

/** WeChat Pay's support names a limit of 150 queries and refunds per second and merchant. */
export const WECHAT_PAY_RESILIENCE_DEFAULTS: ResilienceOptions = Object.freeze({ ratePerSecond: 100 });

/** Parse the keys of a merchant. Error messages must not contain a key. */
const keySchemas = {
  privateKey: z.string().transform((pem, context) => {
    const key = attempt(() => createPrivateKey(pem));
    if (key?.asymmetricKeyType === 'rsa') return key;
    context.issues.push({ code: 'custom', message: 'must be an RSA private key in PEM format', input: undefined });
    return z.NEVER;
  }),
  apiV3Key: z
    .string()
    .refine((key) => Buffer.byteLength(key) === 32, 'must be 32 bytes')
    .transform((key) => createSecretKey(Buffer.from(key))),
  platformKeys: z.record(z.string().min(1), z.string()).transform((given, context) => {
    const keys: [string, KeyObject][] = [];
    for (const [serial, pem] of Object.entries(given)) {
      const key = readPlatformKey(serial, pem);
      if (typeof key !== 'string') keys.push([serial, key]);
      else context.issues.push({ code: 'custom', message: key, input: undefined, path: [serial] });
    }
    if (Object.keys(given).length > 0) return new PlatformKeys(keys);
    const message = 'give at least one key, by PUB_KEY_ID_… or by the serial of a platform certificate';
    context.issues.push({ code: 'custom', message, input: undefined });
    return z.NEVER;
  }),
};

const merchantSchema = z
  .strictObject({
    mchid: z.string().regex(/^\d{6,32}$/, 'must be the merchant number, digits only'),
    appid: z.string().min(1).max(32).optional(),
    serialNo: z
      .string()
      .regex(/^[0-9A-Fa-f]{8,64}$/, "must be the hexadecimal serial of the merchant's API certificate"),
    ...keySchemas,
    downloadPlatformCertificates: z.boolean().default(false),
  })
  .refine(({ serialNo, platformKeys }) => !platformKeys.find(serialNo), {
    path: ['platformKeys'],
    error: "serialNo is the serial of the merchant's own certificate; WeChat Pay does not sign with it",
  });

const schema = z.strictObject({
  name: z.string().min(1).max(64).default('wechat-pay'),
  merchants: z
    .record(z.string().min(1), merchantSchema)
    .refine((merchants) => Object.keys(merchants).length > 0, 'name at least one merchant'),
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .default('https://api.mch.weixin.qq.com'),
});

export type ResolvedWechatPayMerchant = Readonly<z.output<typeof merchantSchema>>;

type ResolvedWechatPayOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option, without secrets. */
export function resolveWechatPayOptions(options: WechatPayOptions): ResolvedWechatPayOptions {
  return Object.freeze(parseOptions('WeChat Pay', schema, options));
}

function readPlatformKey(serial: string, pem: string): KeyObject | string {
  // Node would derive the public half, and the merchant's own key would be used as WeChat Pay's.
  if (pem.includes('PRIVATE KEY')) return 'must be a public key or a certificate, not a private key';
  const certificate = pem.includes('BEGIN CERTIFICATE') ? attempt(() => new X509Certificate(pem)) : undefined;
  const key = attempt(() => certificate?.publicKey ?? createPublicKey(pem));
  if (key?.asymmetricKeyType !== 'rsa') return 'must be an RSA public key or a certificate in PEM format';
  if (!certificate || certificate.serialNumber.toUpperCase() === serial.toUpperCase()) return key;
  return `is the certificate ${certificate.serialNumber}; use that serial as its name`;
}

/** Undefined: it throws. */
export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
