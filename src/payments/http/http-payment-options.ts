import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';

/** Shorter secrets can be guessed from one signed message. */
const secret = z.string().min(16);

const schema = z.strictObject({
  name: z.string().min(1).max(64),
  baseUrl: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }),
  secret: secret.optional(),
  merchantSecrets: z.record(z.string().min(1), secret).default({}),
  maxBodyBytes: z.int().min(1_024).max(1_048_576).default(65_536),
});

/** Where and how HttpPaymentProvider asks. */
export interface HttpPaymentOptions {
  /** Name of the provider: what attempts say. */
  readonly name: string;
  /** For example `https://pay.example.com/v1`; `/payments/{reference}` is appended. */
  readonly baseUrl: string;
  /** Shared secret for attempts without a merchant account, at least 16 characters. */
  readonly secret?: string;
  /** Shared secrets by merchant account. An account that is not here is never asked about. */
  readonly merchantSecrets?: Readonly<Record<string, string>>;
  /** Answers longer than this are not read. @default 65536 */
  readonly maxBodyBytes?: number;
}

/** HttpPaymentOptions with every default filled in. */
export type ResolvedHttpPaymentOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError naming every bad option, never a secret. */
export function resolveHttpPaymentOptions(options: HttpPaymentOptions): ResolvedHttpPaymentOptions {
  const parsed = schema.safeParse(options);
  const problems = parsed.error?.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`) ?? [];
  if (parsed.success && !parsed.data.secret && Object.keys(parsed.data.merchantSecrets).length === 0) {
    problems.push('secret: give a secret, or merchantSecrets by merchant account');
  }
  if (!parsed.success || problems.length > 0) throw new InvalidOptionsError('HTTP payment provider', problems);
  return Object.freeze({ ...parsed.data, baseUrl: parsed.data.baseUrl.replace(/\/+$/, '') });
}
