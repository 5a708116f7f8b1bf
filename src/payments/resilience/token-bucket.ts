import { type Clock } from '../../clock';

/** A turn was given, or the wait would be too long, or the caller gave up while waiting. */
export type TokenResult =
  { readonly type: 'taken' } | { readonly type: 'too-long'; readonly waitMs: number } | { readonly type: 'aborted' };

/**
 * At most `burst` turns at once and `ratePerSecond` in the long run, handed out first come, first served.
 *
 * Own code, because `limiter` 4.1 cannot do what closing needs: a wait in it cannot be aborted, so a caller that gave
 * up would still use up a turn, and it reads the time itself instead of taking a clock.
 */
export class TokenBucket {
  /** Negative: turns promised to callers that still wait. */
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

  /** Waits for a turn, at most `maxWaitMs`; a wait that would be longer is refused before it begins. */
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

  /** A full bucket is like a new one, so it can be forgotten. */
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
