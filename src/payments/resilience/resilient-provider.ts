import { setMaxListeners } from 'node:events';
import { Logger } from '@nestjs/common';
import { type Clock } from '../../clock';
import { FailureLog } from '../../errors';
import { inSpan } from '../../tracing';
import {
  type PaymentAttemptRef,
  type NotificationReader,
  type CloseOutcome,
  type QueryOutcome,
  type RefundOutcome,
  type UnknownOutcome,
  type PaymentProvider,
  type RefundRequest,
  type ResilienceOptions,
  type ResolvedResilienceOptions,
  resolveResilienceOptions,
} from '../payment-provider';
import { type PaymentObserver } from '../payment-providers';
import { CallAbandonedError, type BreakerState, ProviderBreaker } from './provider-breaker';
import { CallSlots, withDeadline } from './call-slots';
import { MerchantRateLimit } from './merchant-rate-limit';

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
    this.options = resolveResilienceOptions(inner.name, { ...inner.resilienceDefaults, ...options });
    this.rate = new MerchantRateLimit(clock, this.options);
    this.slots = new CallSlots(clock, this.options.concurrency, this.options.queueLimit);
    this.breaker = new ProviderBreaker(clock, this.options);
    this.failures = new FailureLog(new Logger(`Provider:${inner.name}`), this.options.breakerThreshold);
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

  /** One span with the wait for a slot and the call. */
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
    // All calls in flight share one shutdown signal. At the 11th listener Node would warn of a leak, wrongly.
    setMaxListeners(Infinity, signal);
    if (this.restriction.paused) return this.whilePaused();
    // Also checked before the waits: a call to a provider that is down must not use up a token or a slot.
    const refusal = this.breaker.refusal();
    if (refusal) return refusal;
    const turn = await this.rate.take(attempt.merchantAccount, signal);
    if (turn.type === 'too-long') return unknown('rate limit of the merchant account is used up', turn.waitMs);
    if (turn.type === 'aborted') return unknown('gave up waiting for the rate limit');
    return this.inSlot(signal, () => this.breaker.run(() => this.timed(signal, call)));
  }

  /** The end of a pause must be noticed soon, but a long pause must not cost a look-up of each order every few seconds. */
  private whilePaused(): UnknownOutcome {
    const pausedMs = this.clock.monotonic() - this.pausedSince;
    const retryAfterMs = pausedMs < 5 * MINUTE ? 5_000 : pausedMs < 60 * MINUTE ? 15_000 : MINUTE;
    return { ...unknown('an operator has paused the provider', retryAfterMs), paused: true };
  }

  private async inSlot<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T | UnknownOutcome> {
    const slot = await this.slots.acquire(this.options.maxWaitMs, signal);
    if (slot.type !== 'entered') return unknown(`too many calls in flight (${slot.type})`, RETRY_WHEN_BUSY_MS);
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
      result.type === 'value' ? result.value : { ...unknown(`no answer within ${timeoutMs} ms`), outage: true },
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

function unknown(reason: string, retryAfterMs?: number): UnknownOutcome {
  return retryAfterMs === undefined ? { type: 'UNKNOWN', reason } : { type: 'UNKNOWN', reason, retryAfterMs };
}

function failedCall(error: unknown): UnknownOutcome {
  return unknown(`call failed: ${error instanceof Error ? error.message : String(error)}`);
}
