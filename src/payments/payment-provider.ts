import { type PaymentAttemptRef } from './payment-attempt-ref';
import { type CloseOutcome, type QueryOutcome } from './payment-outcome';

/**
 * The door to one payment provider. An implementation serves all merchant accounts of that provider.
 *
 * The contract, which the conformance suite in the test kit checks:
 * - Anything not positively recognised in a verified answer is UNKNOWN. When in doubt, UNKNOWN: it costs a retry,
 *   a wrong CLOSED costs a buyer's money.
 * - `close` must never give money back or cancel a payment; a paid attempt answers PAID and stays paid.
 * - `close` is idempotent and may be repeated after any outcome.
 * - Calls end soon after `signal` aborts, with UNKNOWN or by throwing.
 * - Throwing is allowed and means UNKNOWN to callers that go through GuardedProvider.
 */
export interface PaymentProvider {
  /** Unique; what PaymentAttemptRef.provider says. */
  readonly name: string;
  /** Asks for the state of the attempt. Changes nothing. */
  query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome>;
  /** Asks the provider to take no money for the attempt any more. */
  close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome>;
}
