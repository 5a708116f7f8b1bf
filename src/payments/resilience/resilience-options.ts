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

/** How hard one payment provider may be asked. Every value has a default; see ResolvedGuardOptions. */
export interface ResilienceOptions {
  /** The longest one call may take. @default 5000 */
  readonly timeoutMs?: number;
  /** The longest a call may wait for its turn (twice: rate, then slot) before it is given up. @default 5000 */
  readonly maxWaitMs?: number;
  /** Calls in flight at the same time, over all merchant accounts. @default 32 */
  readonly concurrency?: number;
  /** Calls that may wait for a slot; more are refused at once. @default 1000 */
  readonly queueLimit?: number;
  /** Calls per second for each merchant account. @default 100 */
  readonly ratePerSecond?: number;
  /** Calls a merchant account may make at once after a pause. @default ratePerSecond */
  readonly burst?: number;
  /** Outages (no answer, 5xx, throw) in a row after which the provider is left alone. @default 5 */
  readonly breakerThreshold?: number;
  /** Milliseconds before one call tries it again. Once it is back, orders are decided up to this much later. @default 2000 */
  readonly breakerOpenMs?: number;
}

/** ResilienceOptions with every default filled in. */
export type ResolvedGuardOptions = Readonly<z.output<typeof schema>>;

/** @throws InvalidOptionsError naming every bad option of the provider. */
export function resolveResilienceOptions(providerName: string, options: ResilienceOptions): ResolvedGuardOptions {
  const parsed = schema.safeParse(options);
  if (parsed.success) return Object.freeze(parsed.data);
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'options'}: ${issue.message}`);
  throw new InvalidOptionsError(`guard of payment provider "${providerName}"`, problems);
}
