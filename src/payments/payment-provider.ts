import { type PaymentAttemptRef } from './payment-attempt-ref';
import { type ResilienceOptions } from './resilience/resilience-options';
import { type NotificationReader } from './payment-notification';
import { type CloseOutcome, type QueryOutcome, type RefundOutcome } from './payment-outcome';
import { type RefundRequest } from './refund-request';

/**
 * The port to one payment provider. An implementation serves all merchant accounts of that provider.
 *
 * The contract, which the conformance suite in the test kit verifies:
 * - Anything not positively recognized in a verified answer is UNKNOWN. A wrong UNKNOWN costs a retry;
 *   a wrong CLOSED costs a buyer's money.
 * - `close` must never refund or cancel a payment. For a paid attempt it returns PAID, and the attempt stays paid.
 * - `close` is idempotent and may be repeated after any outcome.
 * - `refund` is idempotent by `refundNumber`: repeated calls refund the money once.
 * - `transactionId` is unique, and the same in every answer and notification about a payment. Another one under the same
 *   reference is another payment, which is booked as well.
 * - Calls end soon after `signal` aborts, with UNKNOWN or by throwing.
 * - Throwing is allowed and means UNKNOWN to callers that go through ResilientProvider.
 */
export interface PaymentProvider {
  /** Unique name, used in PaymentAttemptRef.provider. */
  readonly name: string;
  /** Looks up the state of the attempt. Changes nothing. */
  query(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome>;
  /** Closes the attempt, so that the provider takes no money for it. */
  close(attempt: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome>;
  /** Refunds money, or reports the state of an earlier call with the same number. */
  refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome>;
  /** Reads what the provider posts to `/payments/{name}/notify`. Absent: the provider posts nothing. */
  readonly notifications?: NotificationReader | undefined;
  /**
   * The merchant account of attempts that name none. Null: attempts must name theirs. Absent: the provider has no
   * merchant accounts.
   */
  readonly defaultAccount?: string | null | undefined;
  /**
   * Whether a part of a payment can be refunded, and the rest later. Absent: the excess of an overpaid order is left to a
   * person.
   */
  readonly refundsInPart?: boolean;
  /** Whether this merchant account is configured. Absent: the provider cannot tell, and every account is accepted. */
  hasAccount?(account: string): boolean;
  /** Default limits for calls to this provider. The host may override them. */
  readonly resilienceDefaults?: ResilienceOptions;
}
