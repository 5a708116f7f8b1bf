import { type UnknownOutcome } from '../payment-outcome';

/** HTTP 200 and an object; whether it is the one that was asked for is still open. */
export interface StripeAnswer {
  readonly type: 'ANSWERED';
  readonly body: unknown;
}

/** Stripe understood and will not: the same request leads to the same as long as nothing changes there. */
export interface StripeRefusal {
  readonly type: 'REFUSED';
  readonly status: number;
  /** Stripe's error code, such as `resource_missing`; empty if it gave none. */
  readonly code: string;
  readonly message: string;
  /** Not worked on now: the stored result of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
  /** Stripe's clock when it answered. */
  readonly now: Date | undefined;
}

/** No answer, or none that says anything about the payment. */
export interface StripeFailure {
  readonly type: 'FAILED';
  readonly outcome: UnknownOutcome;
  /** Stripe stored it under the idempotency key: the same key would bring it back for 24 h. */
  readonly isStored: boolean;
  /** Not worked on now: an earlier call has used the idempotency key up. */
  readonly isReplayed: boolean;
}

/** What came back from one call of Stripe's API. */
export type StripeReply = StripeAnswer | StripeRefusal | StripeFailure;
