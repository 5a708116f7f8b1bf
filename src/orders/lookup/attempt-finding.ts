import { assertNever } from '../../errors';
import { type PaidOutcome, type PaymentEvidence } from '../../payments';
import { type AttemptKey, type AttemptStatus, canTakeMoney, type PaymentAttempt } from '../payment-attempt';

/** What a whole interrogation of the provider has brought to light about one attempt. */
export type Finding =
  | PaidOutcome
  /** Proven unable to take money any more. */
  | { readonly type: 'CLOSED'; readonly evidence: PaymentEvidence }
  /** The buyer is paying, or the money is on its way or held. */
  | { readonly type: 'IN_PROGRESS'; readonly reason: string }
  /** Not known there, which proves nothing before `finalAt`; null: the attempt has no time_expire to wait for. */
  | { readonly type: 'NOT_FOUND_YET'; readonly finalAt: Date | null }
  /** `isKnownThere`: before that the provider had said that it knows the attempt. */
  | {
      readonly type: 'UNKNOWN';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly isKnownThere?: true;
      /** Asking again brings nothing new. */
      readonly needsPerson?: boolean;
    }
  /** Somebody has reported a payment, and the provider says something else. */
  | { readonly type: 'UNCONFIRMED'; readonly reason: string }
  /** This process has no such provider. */
  | { readonly type: 'NO_PROVIDER'; readonly reason: string };

/** A finding and the attempt that it is about. */
export interface AttemptFinding extends AttemptKey {
  readonly finding: Finding;
}

/**
 * Pure: the attempt as it is after a finding that is no payment. A final attempt stays as it is; so does, as the same
 * object, one that the finding does not change.
 */
export function applyFinding(attempt: PaymentAttempt, finding: Exclude<Finding, PaidOutcome>): PaymentAttempt {
  if (!canTakeMoney(attempt)) return attempt;
  switch (finding.type) {
    case 'CLOSED':
      return withStatus(attempt, 'CLOSED');
    case 'UNKNOWN':
      // An attempt that never left our side stays recognisable as such.
      if (attempt.status === 'CREATED' && !finding.isKnownThere) return attempt;
      return withStatus(attempt, 'UNKNOWN');
    case 'IN_PROGRESS':
      return withStatus(attempt, 'OPEN');
    case 'NOT_FOUND_YET':
    case 'UNCONFIRMED':
    case 'NO_PROVIDER':
      return attempt;
    default:
      return assertNever(finding);
  }
}

function withStatus(attempt: PaymentAttempt, status: AttemptStatus): PaymentAttempt {
  return attempt.status === status ? attempt : { ...attempt, status };
}
