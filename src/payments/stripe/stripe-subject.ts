import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type UnknownOutcome } from '../payment-outcome';

/** What an attempt's reference names at Stripe. The pattern keeps a reference from being a path of its own. */
const REFERENCE = /^(pi|cs)_[A-Za-z0-9_]{1,200}$/;

/** The kind of object that is paid, by the prefix of its id. */
export function subjectOf({ reference }: PaymentAttemptRef): 'intent' | 'session' | UnknownOutcome {
  const kind = REFERENCE.exec(reference)?.[1];
  if (kind !== undefined) return kind === 'pi' ? 'intent' : 'session';
  const shown = JSON.stringify(reference.slice(0, 64));
  return {
    type: 'UNKNOWN',
    reason: `reference ${shown} is neither a payment intent (pi_…) nor a checkout session (cs_…) of Stripe`,
  };
}
