import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';
import { type ResilienceOptions } from '../resilience/resilience-options';
import { keySchemas } from './key-schemas';

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
export type ResolvedWechatPayOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option, without secrets. */
export function resolveWechatPayOptions(options: WechatPayOptions): ResolvedWechatPayOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  throw new InvalidOptionsError('WeChat Pay', problems);
}
