import {
  bulkhead,
  type BulkheadPolicy,
  circuitBreaker,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  handleWhen,
} from 'cockatiel';
import { Logger } from '@nestjs/common';
import { type Clock, withTimeout } from '../../clock';
import {
  type ResolvedResilienceOptions,
  type UnknownOutcome,
  type PaymentAttemptRef,
  type NotificationReader,
  type CloseOutcome,
  type QueryOutcome,
  type RefundOutcome,
  type PaymentProvider,
  type RefundRequest,
  type ResilienceOptions,
  resolveResilienceOptions,
  unknown,
} from '../payment-provider';
import { CodedError, FailureLog, messageOf, withoutUndefined } from '../../errors';
import { inSpan } from '../../tracing';
import { type PaymentObserver } from '../payment-providers';

/** A slot, to be released exactly once, or why there is none. */
type SlotResult =
  { readonly type: 'entered'; readonly release: () => void } | { readonly type: 'full' | 'expired' | 'aborted' };

/** Ends the reason of a look-up that had no turn: the limit is ours, and the provider was not asked. */
export const CALL_LIMIT = 'rate limit of the merchant account is used up';

/**
 * Limits how many calls are in flight. Wraps cockatiel's bulkhead, in which a queued call ignores its signal until its
 * turn comes, and an aborted call ends without starting the next one, which stalls the queue.
 */
export class CallSlots {
  private readonly bulkhead: BulkheadPolicy;

  constructor(
    private readonly clock: Clock,
    concurrency: number,
    queueLimit: number,
  ) {
    this.bulkhead = bulkhead(concurrency, queueLimit);
  }

  async acquire(maxWaitMs: number, signal: AbortSignal): Promise<SlotResult> {
    const entered = this.enter();
    try {
      const result = await withDeadline(this.clock, maxWaitMs, signal, () => entered);
      if (result.type === 'value') return { type: 'entered', release: result.value };
      // Abandoned while queued. The slot is granted later all the same, so it is released at once.
      entered.then(
        (release) => release(),
        () => undefined,
      );
      return result;
    } catch {
      return { type: 'full' };
    }
  }

  /** Resolves to the function that releases the slot, as soon as one is free. Rejects if the queue is full. */
  private enter(): Promise<() => void> {
    return new Promise((grant, refuse) => {
      this.bulkhead.execute(() => new Promise<void>((release) => grant(release))).catch(refuse);
    });
  }
}

/** `value`: the work is done. `expired`: the time is up. `aborted`: the caller gave up. */
type DeadlineResult<T> = { readonly type: 'value'; readonly value: T } | { readonly type: 'expired' | 'aborted' };

/**
 * Runs `work` with a signal that aborts after `ms` milliseconds or when `signal` does. Resolves at that moment even if
 * the work ignores its signal. Rejects only if the work rejects before that.
 *
 * Does not use AbortSignal.any: on Node 20 its results stay referenced by a long-lived source (nodejs/node#54614).
 */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<DeadlineResult<T>> {
  if (signal.aborted) return { type: 'aborted' };
  const inner = new AbortController();
  const working = async (): Promise<DeadlineResult<T>> => ({ type: 'value', value: await work(inner.signal) });
  const result = await withTimeout(clock, ms, working(), undefined, signal);
  if (result) return result;
  inner.abort();
  return { type: signal.aborted ? 'aborted' : 'expired' };
}

/** Above this number, full buckets are deleted. 10,000 buckets take about 1 MB. */
const MAX_BUCKETS = 10_000;

/** One token bucket per merchant account. Providers limit each separately: a busy shop must not slow others. */
export class MerchantRateLimit {
  private readonly buckets = new Map<string, TokenBucket>();

  constructor(
    private readonly clock: Clock,
    private readonly options: ResolvedResilienceOptions,
  ) {}

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

/** `open`: the provider is not called. `half-open`: one call tests whether it works again. */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** While one call tests a recovering provider, other calls are told to come back after this time. */
const RETRY_WHILE_TESTED_MS = 1_000;

/** Does not call a provider that is down. Calls would delay its recovery and hold slots until they time out. */
export class ProviderBreaker {
  private readonly policy: CircuitBreakerPolicy;
  private openedAt = 0;
  /** Without it, an order that was only refused would not tell an operator what is wrong with the provider. */
  private lastFailure = '';

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
    this.policy.onFailure(({ handled, reason }) => {
      if (handled) this.lastFailure = 'error' in reason ? failedCall(reason.error).reason : reasonOf(reason.value);
    });
  }

  get state(): BreakerState {
    if (this.policy.state === CircuitState.Closed) return 'closed';
    return this.policy.state === CircuitState.HalfOpen ? 'half-open' : 'open';
  }

  /** Why a call must not be made now; undefined if it may. */
  refusal(): UnknownOutcome | undefined {
    if (this.state === 'half-open') {
      const reason = `provider is being tested again after an outage (${this.lastFailure})`;
      return unknown(reason, { retryAfterMs: RETRY_WHILE_TESTED_MS });
    }
    const leftMs = Math.ceil(this.openedAt + this.options.breakerOpenMs - this.clock.monotonic());
    if (this.state === 'closed' || leftMs <= 0) return undefined;
    return unknown(`provider is down: circuit breaker is open (${this.lastFailure})`, { retryAfterMs: leftMs });
  }

  /** Makes the call unless refused, and counts its outcome. Rejects with what the call rejects with. */
  async run<T extends object>(call: () => Promise<T>): Promise<T | UnknownOutcome> {
    return this.refusal() ?? this.policy.execute(call);
  }
}

function isOutage(outcome: unknown): boolean {
  return typeof outcome === 'object' && outcome !== null && 'outage' in outcome && outcome.outage === true;
}

function reasonOf(outcome: unknown): string {
  return isUnknown(outcome) ? outcome.reason : '';
}

/** The caller's signal aborted during a call. Never leaves ResilientProvider. */
export class CallAbandonedError extends CodedError {
  constructor() {
    super('CALL_ABANDONED', 'the caller gave up before the payment provider answered; look the payment up again');
  }
}

type Call<T> = (signal: AbortSignal) => Promise<T>;

/** What an operator imposes on a provider. */
export interface ProviderRestriction {
  /** Whether it must not be called. */
  readonly paused?: boolean;
  /** Calls per second for each merchant account, instead of what is configured. */
  readonly perSecond?: number | undefined;
}

const MINUTE = 60_000;
/** When to retry after no slot was free. Our queue is long; the provider is not down. */
const RETRY_WHEN_BUSY_MS = 1_000;

/**
 * Adds a time-out, a circuit breaker, a concurrency limit, and a rate limit per merchant account to any provider.
 * Never throws: every failure is UNKNOWN with the reason, which changes no order.
 */
export class ResilientProvider implements PaymentProvider {
  readonly name: string;
  private readonly options: ResolvedResilienceOptions;
  private rate: MerchantRateLimit;
  private restriction: ProviderRestriction = {};
  /** By the monotonic clock. */
  private pausedSince = 0;
  private readonly slots: CallSlots;
  private readonly breaker: ProviderBreaker;
  private readonly failures: FailureLog;

  /** @throws InvalidOptionsError with every invalid option. */
  constructor(
    private readonly inner: PaymentProvider,
    private readonly clock: Clock,
    options: ResilienceOptions = {},
    private readonly observer?: PaymentObserver,
  ) {
    this.name = inner.name;
    const given = { ...inner.resilienceDefaults, ...withoutUndefined(options) };
    this.options = resolveResilienceOptions(inner.name, given);
    this.rate = new MerchantRateLimit(clock, this.options);
    this.slots = new CallSlots(clock, this.options.concurrency, this.options.queueLimit);
    this.breaker = new ProviderBreaker(clock, this.options);
    const logger = new Logger(`Provider:${inner.name}`);
    this.failures = new FailureLog(logger, () => clock.monotonic(), this.options.breakerThreshold);
  }

  /** Not limited, because reading a notification makes no call. */
  get notifications(): NotificationReader | undefined {
    return this.inner.notifications;
  }

  get defaultAccount(): string | null | undefined {
    return this.inner.defaultAccount;
  }

  get refundsInPart(): boolean {
    return this.inner.refundsInPart ?? false;
  }

  hasAccount(account: string): boolean {
    return this.inner.hasAccount?.(account) ?? true;
  }

  /** For metrics. */
  get breakerState(): BreakerState {
    return this.breaker.state;
  }

  /** Calls per second for each merchant account, as configured. */
  get configuredPerSecond(): number {
    return this.options.ratePerSecond;
  }

  /** Calls that have begun go on. Notifications are still read: they cost the provider no call. */
  restrict(restriction: ProviderRestriction): void {
    const { perSecond: before, paused } = this.restriction;
    if (restriction.paused && !paused) this.pausedSince = this.clock.monotonic();
    this.restriction = restriction;
    const { perSecond = this.options.ratePerSecond } = restriction;
    if (before === restriction.perSecond) return;
    const burst = Math.max(1, Math.min(this.options.burst, Math.floor(perSecond)));
    this.rate = new MerchantRateLimit(this.clock, { ...this.options, ratePerSecond: perSecond, burst });
  }

  query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    return this.traced('query', attempt, signal, (inner) => this.inner.query(attempt, inner));
  }

  close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    return this.traced('close', attempt, signal, (inner) => this.inner.close(attempt, inner));
  }

  refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    return this.traced('refund', refund.attempt, signal, (inner) => this.inner.refund(refund, inner));
  }

  private traced<T extends { readonly type: string }>(
    operation: 'query' | 'close' | 'refund',
    attempt: PaymentAttemptRef,
    signal: AbortSignal,
    call: Call<T>,
  ): Promise<T | UnknownOutcome> {
    const attributes = { 'order_timeout.provider': this.name, 'order_timeout.operation': operation };
    return inSpan(
      `${operation} ${this.name}`,
      { kind: 'client', attributes },
      () => this.protect(attempt, signal, call),
      ({ type }) => ({ 'order_timeout.outcome': type }),
    );
  }

  private async protect<T extends object>(
    attempt: PaymentAttemptRef,
    signal: AbortSignal,
    call: Call<T>,
  ): Promise<T | UnknownOutcome> {
    if (this.restriction.paused) return this.whilePaused();
    // Also checked before the waits: a call to a provider that is down must not use up a token or a slot.
    const refusal = this.breaker.refusal();
    if (refusal) return refusal;
    const turn = await this.rate.take(attempt.merchantAccount, signal);
    if (turn.type === 'too-long') return unknown(CALL_LIMIT, { retryAfterMs: turn.waitMs });
    if (turn.type === 'aborted') return unknown('gave up waiting for the rate limit');
    return this.inSlot(signal, () => this.breaker.run(() => this.timed(signal, call)));
  }

  /** The end of a pause must be noticed soon, but a long pause must not cost a look-up of each order every few seconds. */
  private whilePaused(): UnknownOutcome {
    const pausedMs = this.clock.monotonic() - this.pausedSince;
    const retryAfterMs = pausedMs < 5 * MINUTE ? 5_000 : pausedMs < 60 * MINUTE ? 15_000 : MINUTE;
    return unknown('an operator has paused the provider', { retryAfterMs, paused: true });
  }

  private async inSlot<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | UnknownOutcome> {
    const slot = await this.slots.acquire(this.options.maxWaitMs, signal);
    if (slot.type !== 'entered')
      return unknown(`too many calls in flight (${slot.type})`, { retryAfterMs: RETRY_WHEN_BUSY_MS });
    try {
      return await call();
    } catch (error) {
      return failedCall(error);
    } finally {
      slot.release();
    }
  }

  /** One call with its time-out. Throws only if the caller gave up or the provider threw. */
  private async timed<T>(signal: AbortSignal, call: Call<T>): Promise<T | UnknownOutcome> {
    const { timeoutMs } = this.options;
    const result = await withDeadline(this.clock, timeoutMs, signal, call).catch((error: unknown) => {
      this.note(failedCall(error));
      throw error;
    });
    if (result.type === 'aborted') throw new CallAbandonedError();
    return this.note(
      result.type === 'value' ? result.value : unknown(`no answer within ${timeoutMs} ms`, { outage: true }),
    );
  }

  /** What needs a person is a clear answer. */
  private note<T>(outcome: T): T {
    if (!isUnknown(outcome) || outcome.needsPerson) this.failures.worked('answers again');
    else this.failures.failed(`begins to fail: ${outcome.reason}`);
    if (isUnknown(outcome) && outcome.untrusted) this.observer?.untrusted(this.name, 'answer', outcome.reason);
    return outcome;
  }
}

function isUnknown(outcome: unknown): outcome is UnknownOutcome {
  return typeof outcome === 'object' && outcome !== null && 'type' in outcome && outcome.type === 'UNKNOWN';
}

function failedCall(error: unknown): UnknownOutcome {
  return unknown(`call failed: ${messageOf(error)}`);
}
