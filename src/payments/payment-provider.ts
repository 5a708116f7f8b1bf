import { type PaymentAttemptRef } from './payment-attempt-ref';
import { type ResilienceOptions } from './resilience/resilience-options';
import { type NotificationReader } from './payment-notification';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome } from './payment-outcome';
import { type RefundRequest } from './refund-request';

/**
 * The door to one payment provider. An implementation serves all merchant accounts of that provider.
 *
 * The contract, which the conformance suite in the test kit checks:
 * - Anything not positively recognised in a verified answer is UNKNOWN. When in doubt, UNKNOWN: it costs a retry,
 *   a wrong CLOSED costs a buyer's money.
 * - `close` must never give money back or cancel a payment; a paid attempt answers PAID and stays paid.
 * - `close` is idempotent and may be repeated after any outcome.
 * - `refund` is idempotent by `refundNumber`: however often it is called, the money goes back once.
 * - Calls end soon after `signal` aborts, with UNKNOWN or by throwing.
 * - Throwing is allowed and means UNKNOWN to callers that go through ResilientProvider.
 */
export interface PaymentProvider {
  /** Unique; what PaymentAttemptRef.provider says. */
  readonly name: string;
  /** Asks for the state of the attempt. Changes nothing. */
  query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome>;
  /** Asks the provider to take no money for the attempt any more. */
  close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome>;
  /** Gives money back, or tells how an earlier call with the same number stands. */
  refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome>;
  /** Reads what the provider posts to `/payments/{name}/notify`; absent: it posts nothing. */
  readonly notifications?: NotificationReader | undefined;
  /**
   * With several merchants: the account that attempts without one belong to, null where they must name theirs. Absent:
   * the provider knows no merchants.
   */
  readonly defaultAccount?: string | null | undefined;
  /** Whether this merchant account is configured. Absent: the provider cannot tell, and every account is taken. */
  hasAccount?(account: string): boolean;
  /** How hard it may be asked where the host says nothing else. */
  readonly guardDefaults?: ResilienceOptions;
}
