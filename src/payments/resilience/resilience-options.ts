import { z } from 'zod';
import { InvalidOptionsError } from '../../errors';

const schema = z
  .strictObject({
    timeoutMs: z.int().min(1).max(60_000).default(5_000),
    maxWaitMs: z.int().min(0).max(60_000).default(5_000),
    concurrency: z.int().min(1).max(1_000).default(32),
    queueLimit: z.int().min(0).max(100_000).default(1_000),
    ratePerSecond: z.number().min(0.1).max(10_000).default(100),
    burst: z.int().min(1).max(10_000).optional(),
    breakerThreshold: z.int().min(1).max(1_000).default(5),
    breakerOpenMs: z.int().min(1).max(600_000).default(2_000),
  })
  .transform((given) => ({ ...given, burst: given.burst ?? Math.max(1, Math.floor(given.ratePerSecond)) }));

/** Limits for calls to one payment provider. */
export interface ResilienceOptions {
  /** Maximum duration of one call, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
  /**
   * Maximum wait in milliseconds for the rate limit, and again for a slot. Then the outcome is UNKNOWN. @default 5000
   */
  readonly maxWaitMs?: number;
  /** Calls in flight at the same time, for all merchant accounts together. @default 32 */
  readonly concurrency?: number;
  /** Calls that may wait for a slot. Further calls are refused at once. @default 1000 */
  readonly queueLimit?: number;
  /** Calls per second for each merchant account. @default 100 */
  readonly ratePerSecond?: number;
  /** Calls that a merchant account may make at once after a pause. @default ratePerSecond */
  readonly burst?: number;
  /** Consecutive outages (no answer, 5xx, exception) after which the provider is not called. @default 5 */
  readonly breakerThreshold?: number;
  /** Milliseconds until one call tests it. After an outage, orders are decided up to this much later. @default 2000 */
  readonly breakerOpenMs?: number;
}

/** ResilienceOptions with all defaults. */
export type ResolvedResilienceOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError with every invalid option of the provider. */
export function resolveResilienceOptions(providerName: string, options: ResilienceOptions): ResolvedResilienceOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  throw new InvalidOptionsError(`resilience of payment provider "${providerName}"`, problems);
}
