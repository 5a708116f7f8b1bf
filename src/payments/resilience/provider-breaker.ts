import { circuitBreaker, type CircuitBreakerPolicy, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import { type Clock } from '../../clock';
import { CodedError } from '../../errors';
import { type UnknownOutcome, type ResolvedResilienceOptions } from '../payment-provider';

/** `open`: the provider is not called. `half-open`: one call tests whether it works again. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** While one call tests a recovering provider, other calls are told to come back after this time. */
const RETRY_WHILE_TESTED_MS = 1_000;

/** Does not call a provider that is down. Calls would delay its recovery and hold slots until they time out. */
export class ProviderBreaker {
  private readonly policy: CircuitBreakerPolicy;
  private openedAt = 0;

  constructor(
    private readonly clock: Clock,
    private readonly options: ResolvedResilienceOptions,
  ) {
    // An abandoned call proves nothing, so it is not a failure. While half-open it is: it must not close the breaker.
    const isFailure = (error: unknown): boolean =>
      !(error instanceof CallAbandonedError) || this.policy.state === CircuitState.HalfOpen;
    this.policy = circuitBreaker(handleWhen(isFailure).orWhenResult(isOutage), {
      breaker: new ConsecutiveBreaker(options.breakerThreshold),
      // Cockatiel uses the wall clock: if that is set back by an hour, the breaker stays open for an hour.
      // So cockatiel may always try, and refusal() blocks calls by the monotonic clock.
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

  /** Why a call must not be made now; undefined if it may. */
  refusal(): UnknownOutcome | undefined {
    if (this.state === 'half-open') {
      return {
        type: 'UNKNOWN',
        reason: 'provider is being tested again after an outage',
        retryAfterMs: RETRY_WHILE_TESTED_MS,
      };
    }
    const leftMs = Math.ceil(this.openedAt + this.options.breakerOpenMs - this.clock.monotonic());
    if (this.state === 'closed' || leftMs <= 0) return undefined;
    return { type: 'UNKNOWN', reason: 'provider is down: circuit breaker is open', retryAfterMs: leftMs };
  }

  /** Makes the call unless refused, and counts its outcome. Rejects with what the call rejects with. */
  async run<T extends object>(call: () => Promise<T>): Promise<T | UnknownOutcome> {
    return this.refusal() ?? this.policy.execute(call);
  }
}

function isOutage(outcome: unknown): boolean {
  return typeof outcome === 'object' && outcome !== null && 'outage' in outcome && outcome.outage === true;
}

/** The caller's signal aborted during a call. Never leaves ResilientProvider. */
export class CallAbandonedError extends CodedError {
  constructor() {
    super('CALL_ABANDONED', 'the caller gave up before the payment provider answered; look the payment up again');
  }
}
