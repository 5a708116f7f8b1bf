import { z } from 'zod';
import { parseOptions } from '../payment-provider';

const SECRET_KEY = /^(?:sk|rk)_\w{8,}$/;
/** Hosts that no other machine can intercept. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Where Stripe shows webhook secrets. */
const FROM = 'copy it from Developers > Webhooks';
const PREFIX = 'whsec_';
/** Minimum number of characters after the prefix. Real secrets have 32. */
const MIN_SECRET = 8;

/** The message must not contain the value: even a short one may be the beginning of a real secret. */
const webhookSecret = z.string().superRefine((secret, context) => {
  const length = secret.length - PREFIX.length;
  const complain = (message: string): void => context.addIssue({ code: 'custom', message: `${message}; ${FROM}` });
  if (!secret.startsWith(PREFIX)) complain(`must start with ${PREFIX}`);
  else if (/\s/.test(secret)) complain('must not have spaces');
  else if (length < MIN_SECRET)
    complain(`has only ${length} characters after ${PREFIX}, which is too short for a webhook secret`);
});

const merchant = z
  .strictObject({
    secretKey: z.string().regex(SECRET_KEY, 'must be a secret or restricted key (sk_… or rk_…)'),
    webhookSecrets: z.array(webhookSecret).default([]),
    stripeAccount: z
      .string()
      .regex(/^acct_\w+$/, 'must be an account id (acct_…)')
      .optional(),
    livemode: z.boolean().optional(),
  })
  .refine(({ secretKey, livemode }) => livemode === undefined || (livemodeOf(secretKey) ?? livemode) === livemode, {
    path: ['livemode'],
    error: 'must match the mode of the secret key',
  })
  .transform((given) => ({ ...given, livemode: given.livemode ?? livemodeOf(given.secretKey) }));

const schema = z.strictObject({
  name: z.string().min(1).max(64).default('stripe'),
  merchants: z
    .record(z.string().min(1).max(64), merchant)
    .refine((given) => Object.keys(given).length > 0, 'name at least one merchant'),
  baseUrl: z
    .url({ protocol: /^https?$/, error: 'must be an https:// URL' })
    .refine(
      isPrivate,
      'must be https://, or http:// on a loopback host: answers are not signed, so only TLS protects them',
    )
    .default('https://api.stripe.com'),
  timeoutMs: z.int().min(100).max(60_000).default(8_000),
});

/** One Stripe merchant. */
export interface StripeMerchant {
  /** `sk_…`, or a restricted key with read and write access to payment intents, checkout sessions, and refunds. */
  readonly secretKey: string;
  /** Signing secrets (`whsec_…`) of the webhooks; two while you roll one. Without any, webhooks are rejected. */
  readonly webhookSecrets?: readonly string[];
  /** The connected account (`acct_…`) that the payments belong to. Absent: the account of the key. */
  readonly stripeAccount?: string;
  /** Answers and events of the other mode are not trusted. @default the mode of the key (`_live_`, `_test_`) */
  readonly livemode?: boolean;
}

/** Options of StripeProvider. */
export interface StripeOptions {
  /** Name of the provider, which payment attempts refer to. @default "stripe" */
  readonly name?: string;
  /** Merchants by account. Payments of other accounts are not looked up. */
  readonly merchants: Readonly<Record<string, StripeMerchant>>;
  /** For a simulator or a proxy. http:// only on a loopback host. May have a path. @default "https://api.stripe.com" */
  readonly baseUrl?: string;
  /** Maximum duration of one request in milliseconds. @default 8000 */
  readonly timeoutMs?: number;
}

export type ResolvedStripeOptions = Readonly<z.output<typeof schema>>;
export type ResolvedStripeMerchant = z.output<typeof merchant>;

/** @throws InvalidOptionsError with every invalid option, without secrets. */
export function resolveStripeOptions(options: StripeOptions): ResolvedStripeOptions {
  const parsed = parseOptions('Stripe payment provider', schema, options);
  return Object.freeze({ ...parsed, baseUrl: parsed.baseUrl.replace(/\/+$/, '') });
}

function livemodeOf(secretKey: string): boolean | undefined {
  if (secretKey.includes('_live_')) return true;
  return secretKey.includes('_test_') ? false : undefined;
}

/** True for an invalid URL, which another check reports. */
function isPrivate(url: string): boolean {
  if (!URL.canParse(url)) return true;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || LOOPBACK_HOST.test(hostname);
}
