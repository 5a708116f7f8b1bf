import { z } from 'zod';
import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject, X509Certificate } from 'node:crypto';
import { InvalidOptionsError } from '../../errors';
import { type ResilienceOptions } from '../payment-provider';
import { PlatformKeys } from './platform-keys';

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

/** WechatPayMerchant with parsed keys. */
export type ResolvedWechatPayMerchant = Readonly<z.output<typeof merchantSchema>>;

/** WechatPayOptions with all defaults. */
type ResolvedWechatPayOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option, without secrets. */
export function resolveWechatPayOptions(options: WechatPayOptions): ResolvedWechatPayOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  throw new InvalidOptionsError('WeChat Pay', problems);
}

/** Returns the key, or what is wrong with it. */
function readPlatformKey(serial: string, pem: string): KeyObject | string {
  // Node would derive the public half, and the merchant's own key would be used as WeChat Pay's.
  if (pem.includes('PRIVATE KEY')) return 'must be a public key or a certificate, not a private key';
  const certificate = pem.includes('BEGIN CERTIFICATE') ? attempt(() => new X509Certificate(pem)) : undefined;
  const key = attempt(() => certificate?.publicKey ?? createPublicKey(pem));
  if (key?.asymmetricKeyType !== 'rsa') return 'must be an RSA public key or a certificate in PEM format';
  if (!certificate || certificate.serialNumber.toUpperCase() === serial.toUpperCase()) return key;
  return `is the certificate ${certificate.serialNumber}; use that serial as its name`;
}

function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
