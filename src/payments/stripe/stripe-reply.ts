import { type UnknownOutcome } from '../payment-outcome';

/** HTTP 200 with an object. Whether it is the requested object is not checked yet. */
export interface StripeAnswer {
  readonly type: 'ANSWERED';
  readonly body: unknown;
}

/** Stripe understood the request and refused it. Repeating it has the same result until something changes at Stripe. */
export interface StripeRefusal {
  readonly type: 'REFUSED';
  readonly status: number;
  /** Stripe's error code, such as `resource_missing`; empty if it gave none. */
  readonly code: string;
  readonly message: string;
  /** This is the stored result of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
  /** The time by Stripe's clock when it answered. */
  readonly now: Date | undefined;
}

/** No answer, or an answer that says nothing about the payment. */
export interface StripeFailure {
  readonly type: 'FAILED';
  readonly outcome: UnknownOutcome;
  /** Stripe stored this result and replays it for the same idempotency key for 24 h. */
  readonly isStored: boolean;
  /** This is the result of an earlier call with the same idempotency key. */
  readonly isReplayed: boolean;
}

/** Result of one call to Stripe's API. */
export type StripeReply = StripeAnswer | StripeRefusal | StripeFailure;
