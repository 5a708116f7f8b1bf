import { type Clock } from '../../clock';
import { type ResolvedResilienceOptions } from '../payment-provider';

/** Above this number, full buckets are deleted. 10,000 buckets take about 1 MB. */
const MAX_BUCKETS = 10_000;

/**
 * One token bucket per merchant account. Providers limit each merchant separately: a busy shop must not slow others.
 */
export class MerchantRateLimit {
  private readonly buckets = new Map<string, TokenBucket>();

  constructor(
    private readonly clock: Clock,
    private readonly options: ResolvedResilienceOptions,
  ) {}

  /** Waits for a token of this merchant account (undefined: the default one). */
  take(merchantAccount: string | undefined, signal: AbortSignal): Promise<TokenResult> {
    return this.bucket(merchantAccount ?? '').take(this.options.maxWaitMs, signal);
  }

  private bucket(key: string): TokenBucket {
    const known = this.buckets.get(key);
    if (known) return known;
    if (this.buckets.size >= MAX_BUCKETS) this.forgetFullOnes();
    const fresh = new TokenBucket(this.clock, this.options.ratePerSecond, this.options.burst);
    this.buckets.set(key, fresh);
    return fresh;
  }

  private forgetFullOnes(): void {
    for (const [key, bucket] of this.buckets) if (bucket.isFull()) this.buckets.delete(key);
  }
}

/** `taken`: the caller has a token. `too-long`: the wait would exceed the limit. `aborted`: it gave up. */
type TokenResult =
  { readonly type: 'taken' } | { readonly type: 'too-long'; readonly waitMs: number } | { readonly type: 'aborted' };

/**
 * Grants at most `burst` tokens at once and `ratePerSecond` on average, first come, first served.
 *
 * The package `limiter` 4.1 does not fit: its waits cannot be aborted, so a caller that gave up would still use up a
 * token, and it does not accept a clock.
 */
export class TokenBucket {
  /** Negative: tokens that are promised to waiting callers. */
  private tokens: number;
  private refilledAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly ratePerSecond: number,
    private readonly burst: number,
  ) {
    this.tokens = burst;
    this.refilledAt = clock.monotonic();
  }

  /** Waits for a token, at most `maxWaitMs`. If the wait would be longer, refuses at once. */
  async take(maxWaitMs: number, signal: AbortSignal): Promise<TokenResult> {
    this.refill();
    const waitMs = Math.max(0, Math.ceil(((1 - this.tokens) * 1_000) / this.ratePerSecond));
    if (waitMs > maxWaitMs) return { type: 'too-long', waitMs };
    this.tokens -= 1;
    if (waitMs > 0) await this.clock.sleep(waitMs, signal);
    if (!signal.aborted) return { type: 'taken' };
    this.tokens += 1;
    return { type: 'aborted' };
  }

  /** A full bucket equals a new one, so it can be deleted. */
  isFull(): boolean {
    this.refill();
    return this.tokens >= this.burst;
  }

  private refill(): void {
    const now = this.clock.monotonic();
    const gained = ((now - this.refilledAt) * this.ratePerSecond) / 1_000;
    this.tokens = Math.min(this.burst, this.tokens + gained);
    this.refilledAt = now;
  }
}
