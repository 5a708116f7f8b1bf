import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';

/** A shorter secret can be found by brute force from one signed message. */
const secret = z.string().min(16);

const schema = z.strictObject({
  name: z.string().min(1).max(64),
  baseUrl: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }),
  secret: secret.optional(),
  merchantSecrets: z.record(z.string().min(1), secret).default({}),
  maxBodyBytes: z.int().min(1_024).max(1_048_576).default(65_536),
});

/** Options of HttpPaymentProvider. */
export interface HttpPaymentOptions {
  /** Name of the provider, which payment attempts refer to. */
  readonly name: string;
  /** For example `https://pay.example.com/v1`; `/payments/{reference}` is appended. */
  readonly baseUrl: string;
  /** Shared secret for attempts without a merchant account, at least 16 characters. */
  readonly secret?: string;
  /** Shared secrets by merchant account. Payments of other accounts are not looked up. */
  readonly merchantSecrets?: Readonly<Record<string, string>>;
  /** Longer answers are not read. @default 65536 */
  readonly maxBodyBytes?: number;
}

/** HttpPaymentOptions with all defaults. */
export type ResolvedHttpPaymentOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option, without secrets. */
export function resolveHttpPaymentOptions(options: HttpPaymentOptions): ResolvedHttpPaymentOptions {
  const parsed = schema.safeParse(options);
  const problems = parsed.error?.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`) ?? [];
  if (parsed.success && !parsed.data.secret && Object.keys(parsed.data.merchantSecrets).length === 0) {
    problems.push('secret: give a secret, or merchantSecrets by merchant account');
  }
  if (!parsed.success || problems.length > 0) throw new InvalidOptionsError('HTTP payment provider', problems);
  return Object.freeze({ ...parsed.data, baseUrl: parsed.data.baseUrl.replace(/\/+$/, '') });
}
