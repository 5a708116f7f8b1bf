import { circuitBreaker, type CircuitBreakerPolicy, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import { type Clock } from '../../clock';
import { type UnknownOutcome } from '../payment-outcome';
import { CallAbandonedError } from './call-abandoned-error';
import { type ResolvedGuardOptions } from './resilience-options';

/** `open`: the provider is left alone; `half-open`: one call is finding out whether it is back. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** While one call tests a recovering provider the others come back after this long. */
const RETRY_WHILE_TESTED_MS = 1_000;

/** Leaves a provider alone that is down, so that its recovery is not delayed and our slots are not held. */
export class ProviderBreaker {
  private readonly policy: CircuitBreakerPolicy;
  private openedAt = 0;

  constructor(
    private readonly clock: Clock,
    private readonly options: ResolvedGuardOptions,
  ) {
    // A caller that gives up proves nothing, but must not close a breaker that is only being tested.
    const isFailure = (error: unknown): boolean =>
      !(error instanceof CallAbandonedError) || this.policy.state === CircuitState.HalfOpen;
    this.policy = circuitBreaker(handleWhen(isFailure).orWhenResult(isOutage), {
      breaker: new ConsecutiveBreaker(options.breakerThreshold),
      // Cockatiel measures with the wall clock: set back by an hour, it would stay open for that hour.
      // So it is told that it may always try, and refusal() holds calls back by the monotonic clock.
      halfOpenAfter: Number.NEGATIVE_INFINITY,
    });
    this.policy.onBreak(() => {
      this.openedAt = clock.monotonic();
    });
  }

  get state(): BreakerState {
    if (this.policy.state === CircuitState.Closed) return 'closed';
    return this.policy.state === CircuitState.HalfOpen ? 'half-open' : 'open';
  }

  /** Why a call must not be made now; undefined: it may. */
  refusal(): UnknownOutcome | undefined {
    if (this.state === 'half-open') {
      return {
        type: 'UNKNOWN',
        reason: 'provider is being tested after an outage',
        retryAfterMs: RETRY_WHILE_TESTED_MS,
      };
    }
    const leftMs = Math.ceil(this.openedAt + this.options.breakerOpenMs - this.clock.monotonic());
    if (this.state === 'closed' || leftMs <= 0) return undefined;
    return { type: 'UNKNOWN', reason: 'provider is down: circuit breaker is open', retryAfterMs: leftMs };
  }

  /** Makes the call unless `refusal`, and learns from its outcome. Rejects with what the call rejects with. */
  async run<T extends object>(call: () => Promise<T>): Promise<T | UnknownOutcome> {
    return this.refusal() ?? this.policy.execute(call);
  }
}

function isOutage(outcome: unknown): boolean {
  return typeof outcome === 'object' && outcome !== null && 'outage' in outcome && outcome.outage === true;
}
