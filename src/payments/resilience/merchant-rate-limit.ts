import { type Clock } from '../../clock';
import { type ResolvedResilienceOptions } from './resilience-options';
import { TokenBucket, type TokenResult } from './token-bucket';

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
