import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';

const SECRET_KEY = /^(?:sk|rk)_\w{8,}$/;
/** Hosts that no other machine can listen on, or in between to. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Where Stripe shows webhook secrets. */
const FROM = 'copy it from Developers > Webhooks';
const PREFIX = 'whsec_';
/** Characters after the prefix; the real ones have 32. */
const MIN_SECRET = 8;

/** Says what is wrong with it and never what it is: a short one may be the beginning of a real one. */
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
    error: 'the secret key is one of the other mode',
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
      'must be https://, or http:// on a loopback host: answers are not signed, so TLS vouches for them',
    )
    .default('https://api.stripe.com'),
  timeoutMs: z.int().min(100).max(60_000).default(8_000),
});

/** One Stripe account. */
export interface StripeMerchant {
  /** `sk_…`, or a restricted key that may read and write payment intents, checkout sessions and refunds. */
  readonly secretKey: string;
  /** Signing secrets (`whsec_…`) of the webhook endpoints; two while one is being rolled. Without any, its news is rejected. */
  readonly webhookSecrets?: readonly string[];
  /** The connected account (`acct_…`) that the payments belong to; absent: the key's own. */
  readonly stripeAccount?: string;
  /** Answers and events of the other mode are not believed. @default what the key says (`_live_`, `_test_`) */
  readonly livemode?: boolean;
}

/** Where and how StripeProvider asks. */
export interface StripeOptions {
  /** What attempts call it. @default "stripe" */
  readonly name?: string;
  /** By merchant account: what attempts say. An account that is not here is never asked about. */
  readonly merchants: Readonly<Record<string, StripeMerchant>>;
  /** For a simulator or proxy; http:// only on a loopback host. A path is kept. @default "https://api.stripe.com" */
  readonly baseUrl?: string;
  /** The longest one request may take, in milliseconds. @default 8000 */
  readonly timeoutMs?: number;
}

/** StripeOptions with every default filled in. */
export type ResolvedStripeOptions = Readonly<z.output<typeof schema>>;
/** StripeMerchant with every default filled in. */
export type ResolvedStripeMerchant = z.output<typeof merchant>;

/** @throws InvalidOptionsError naming every bad option, never a secret. */
export function resolveStripeOptions(options: StripeOptions): ResolvedStripeOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return Object.freeze({ ...parsed.data, baseUrl: parsed.data.baseUrl.replace(/\/+$/, '') });
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  throw new InvalidOptionsError('Stripe payment provider', problems);
}

function livemodeOf(secretKey: string): boolean | undefined {
  if (secretKey.includes('_live_')) return true;
  return secretKey.includes('_test_') ? false : undefined;
}

/** What is no URL at all is complained of elsewhere. */
function isPrivate(url: string): boolean {
  if (!URL.canParse(url)) return true;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || LOOPBACK_HOST.test(hostname);
}
