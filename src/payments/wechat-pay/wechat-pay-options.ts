import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';
import { type ResilienceOptions } from '../resilience/resilience-options';
import { keySchemas } from './key-schemas';

/** One merchant of WeChat Pay, as the merchant platform shows it. */
export interface WechatPayMerchant {
  /** Merchant number, digits. */
  readonly mchid: string;
  /** The only app the merchant is paid through; answers about another one are not trusted. Absent: any. */
  readonly appid?: string;
  /** Serial of the merchant's API certificate, hexadecimal. */
  readonly serialNo: string;
  /** The API certificate's private key, PEM (apiclient_key.pem). */
  readonly privateKey: string;
  /** APIv3 key, 32 bytes: opens notifications and downloaded certificates. */
  readonly apiV3Key: string;
  /**
   * What WeChat Pay signs with: public keys (PEM) by `PUB_KEY_ID_…` and platform certificates (PEM) by serial.
   * Several while they change.
   */
  readonly platformKeys: Readonly<Record<string, string>>;
  /**
   * Fetch platform certificates when an answer is signed with an unknown one. Only for merchants that still have
   * platform certificates. @default false
   */
  readonly downloadPlatformCertificates?: boolean;
}

/** Which merchants WechatPayProvider serves, and where. */
export interface WechatPayOptions {
  /** Name of the provider: what attempts say. @default "wechat-pay" */
  readonly name?: string;
  /** By merchantAccount of the attempts. */
  readonly merchants: Readonly<Record<string, WechatPayMerchant>>;
  /** Without `/v3`. There is no sandbox; this is for the simulator. @default "https://api.mch.weixin.qq.com" */
  readonly baseUrl?: string;
}

/** What WeChat Pay's support has quoted is 150 queries and refunds per second and merchant; this stays below it. */
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
    .refine((merchants) => Object.keys(merchants).length > 0, 'give at least one merchant'),
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .default('https://api.mch.weixin.qq.com'),
});

/** A merchant with every key parsed. */
export type ResolvedWechatPayMerchant = Readonly<z.output<typeof merchantSchema>>;
/** WechatPayOptions with every default filled in. */
export type ResolvedWechatPayOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError naming every bad option, never a secret. */
export function resolveWechatPayOptions(options: WechatPayOptions): ResolvedWechatPayOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  throw new InvalidOptionsError('WeChat Pay', problems);
}
