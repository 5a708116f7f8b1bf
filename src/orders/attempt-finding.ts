import { assertNever } from '../errors';
import { type PaidOutcome, type PaymentEvidence } from '../payments';
import { type AttemptKey, isBooked, type PaymentAttempt } from './payment-attempt';

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
    }
  /** This process has no such provider. */
  | { readonly type: 'NO_PROVIDER'; readonly reason: string };

/** A finding and the attempt that it is about. */
export interface AttemptFinding extends AttemptKey {
  readonly finding: Finding;
}

/**
 * Pure: the attempt as it is after the finding. A final attempt stays as it is, but for one that we took for closed
 * and that has brought money all the same.
 */
export function applyFinding(attempt: PaymentAttempt, finding: Finding | undefined): PaymentAttempt {
  if (!finding || isBooked(attempt)) return attempt;
  if (attempt.status === 'CLOSED' && finding.type !== 'PAID') return attempt;
  switch (finding.type) {
    case 'PAID': {
      const { amount, currency, paidAt, transactionId } = finding;
      return { ...attempt, status: 'PAID', paidAmount: amount, paidCurrency: currency, paidAt, transactionId };
    }
    case 'CLOSED':
      return { ...attempt, status: 'CLOSED' };
    case 'UNKNOWN':
      // An attempt that never left our side stays recognisable as such.
      if (attempt.status === 'CREATED' && !finding.isKnownThere) return attempt;
      return { ...attempt, status: 'UNKNOWN' };
    case 'IN_PROGRESS':
      return { ...attempt, status: 'OPEN' };
    case 'NOT_FOUND_YET':
    case 'NO_PROVIDER':
      return attempt;
    default:
      return assertNever(finding);
  }
}
