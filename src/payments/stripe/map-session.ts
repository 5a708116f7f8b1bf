import { type QueryOutcome } from '../payment-outcome';
import { toIntentOutcome } from './map-intent';
import { type Intent, type Session } from './stripe-objects';

/**
 * What the state of a Checkout Session means. Its `payment_intent.latest_charge` has to be expanded. Money is told by
 * the intent, whatever the session says; the session tells whether a buyer can still begin.
 */
export function toSessionOutcome(session: Session): QueryOutcome {
  const { mode, status, payment_status, payment_intent: intent } = session;
  if (mode !== 'payment') return unknown(session, `checkout session is of mode "${mode}", only "payment" is supported`);
  if (typeof intent === 'string') return unknown(session, 'payment intent of the checkout session is not expanded');
  const evidence = sessionEvidence(session);
  if (intent) return withIntent(session, intent);
  if (status === 'open' && payment_status === 'unpaid') return { type: 'OPEN', evidence };
  if (status === 'expired' && payment_status === 'unpaid') return { type: 'CLOSED', evidence };
  return unknown(session, `checkout session is "${status}" and "${payment_status}", but has no payment intent`);
}

function withIntent(session: Session, intent: Intent): QueryOutcome {
  const paid = toIntentOutcome(intent);
  const evidence = { ...sessionEvidence(session), ...paid.evidence };
  // Webhooks about sessions name the intent and not the charge; both have to call a payment the same.
  if (paid.type === 'PAID') return { ...paid, transactionId: intent.id, evidence };
  if (paid.type !== 'OPEN' && paid.type !== 'CLOSED') return { ...paid, evidence };
  if (session.payment_status !== 'unpaid') return unknown(session, 'checkout session is paid, its intent is not');
  const type = unpaidState(session.status, intent.status);
  if (type) return { type, evidence };
  return unknown(session, `checkout session "${session.status}" with an intent "${intent.status}" is not known`);
}

/** State of a session whose intent holds no money. Buyers cannot use that intent but through its session. */
function unpaidState(session: string, intent: string): 'OPEN' | 'PROCESSING' | 'CLOSED' | undefined {
  if (session === 'open') return 'OPEN';
  if (session !== 'expired' && session !== 'complete') return undefined;
  // Under way: a bank asks the buyer, or a voucher waits to be paid. It ends as succeeded or requires_payment_method.
  if (intent === 'requires_action') return 'PROCESSING';
  // Also of a complete session: its delayed payment failed, and a complete session takes no second one.
  return intent === 'requires_payment_method' || intent === 'canceled' ? 'CLOSED' : undefined;
}

function sessionEvidence({ id, status, payment_status }: Session): Record<string, unknown> {
  return { session: id, sessionStatus: status, paymentStatus: payment_status };
}

function unknown(session: Session, reason: string): QueryOutcome {
  return { type: 'UNKNOWN', reason, evidence: sessionEvidence(session) };
}
