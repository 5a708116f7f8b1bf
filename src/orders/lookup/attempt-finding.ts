import { assertNever } from '../../errors';
import { type PaidOutcome, type PaymentEvidence } from '../../payments';
import { type AttemptName, canTakeMoney, type PaymentAttempt, withStatus } from '../payment-attempt';

/** The result of a complete look-up of one attempt. */
export type Finding =
  | PaidOutcome
  /** Proven to take no more money. */
  | { readonly type: 'CLOSED'; readonly evidence: PaymentEvidence }
  /** The buyer is paying, or the money is on its way or on hold. */
  | { readonly type: 'IN_PROGRESS'; readonly reason: string }
  /**
   * Unknown to the provider, which proves nothing before `finalAt`. Null: the attempt has no time_expire to wait for.
   */
  | { readonly type: 'NOT_FOUND_YET'; readonly finalAt: Date | null }
  /** `isKnownThere`: an earlier answer of the provider showed that it knows the attempt. */
  | {
      readonly type: 'UNKNOWN';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly isKnownThere?: true;
      /** Another look-up brings nothing new. */
      readonly needsPerson?: boolean;
      /** An operator has paused the provider, so it was not asked. */
      readonly paused?: boolean;
    }
  /** A payment was reported, and the provider contradicts it. */
  | { readonly type: 'UNCONFIRMED'; readonly reason: string }
  /** This process has no such provider. */
  | { readonly type: 'NO_PROVIDER'; readonly reason: string };

/** A finding and the attempt that it belongs to. */
export interface AttemptFinding extends AttemptName {
  readonly finding: Finding;
  /** A person had settled the payment that was found before its attempt was registered. @default false */
  readonly isSettled?: boolean;
}

/**
 * Pure: returns the attempt after a finding that is not a payment. Final attempts, and attempts that the finding does
 * not change, are returned as the same object.
 */
export function applyFinding(attempt: PaymentAttempt, finding: Exclude<Finding, PaidOutcome>): PaymentAttempt {
  if (!canTakeMoney(attempt)) return attempt;
  switch (finding.type) {
    case 'CLOSED':
      return withStatus(attempt, 'CLOSED');
    case 'UNKNOWN':
      // An attempt that was never handed over stays recognizable as such.
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
