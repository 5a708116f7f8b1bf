import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type UnknownOutcome } from '../payment-outcome';

/** References that Stripe accepts. The pattern prevents a reference from changing the path of the URL. */
const REFERENCE = /^(pi|cs)_[A-Za-z0-9_]{1,200}$/;

/** The kind of object that the reference names, by its prefix. */
export function subjectOf({ reference }: PaymentAttemptRef): 'intent' | 'session' | UnknownOutcome {
  const kind = REFERENCE.exec(reference)?.[1];
  if (kind !== undefined) return kind === 'pi' ? 'intent' : 'session';
  const shown = JSON.stringify(reference.slice(0, 64));
  return {
    type: 'UNKNOWN',
    reason: `reference ${shown} is neither a Stripe payment intent (pi_…) nor a checkout session (cs_…)`,
  };
}
