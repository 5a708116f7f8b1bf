import { type QueryOutcome } from '../payment-outcome';
import { toIntentOutcome } from './map-intent';
import { type Intent, type Session } from './stripe-objects';

/**
 * Maps the state of a Checkout Session. Its `payment_intent.latest_charge` must be expanded. The intent decides whether
 * money was taken. The session decides whether a buyer can still start a payment.
 */
export function toSessionOutcome(session: Session): QueryOutcome {
  const { mode, status, payment_status, payment_intent: intent } = session;
  if (mode !== 'payment')
    return unknown(session, `the checkout session has mode "${mode}"; only "payment" is supported`);
  if (typeof intent === 'string') return unknown(session, 'the payment intent of the checkout session is not expanded');
  const evidence = sessionEvidence(session);
  if (intent) return withIntent(session, intent);
  if (status === 'open' && payment_status === 'unpaid') return { type: 'OPEN', evidence };
  if (status === 'expired' && payment_status === 'unpaid') return { type: 'CLOSED', evidence };
  return unknown(session, `the checkout session is "${status}" and "${payment_status}", but has no payment intent`);
}

function withIntent(session: Session, intent: Intent): QueryOutcome {
  const paid = toIntentOutcome(intent);
  const evidence = { ...sessionEvidence(session), ...paid.evidence };
  // Webhooks about sessions name the intent, not the charge. Both must give a payment the same transaction id.
  if (paid.type === 'PAID') return { ...paid, transactionId: intent.id, evidence };
  if (paid.type !== 'OPEN' && paid.type !== 'CLOSED') return { ...paid, evidence };
  if (session.payment_status !== 'unpaid')
    return unknown(session, 'the checkout session is paid, but its intent is not');
  const type = unpaidState(session.status, intent.status);
  if (type) return { type, evidence };
  return unknown(session, `unknown state: checkout session "${session.status}" with payment intent "${intent.status}"`);
}

/** State of a session whose intent holds no money. Buyers can use that intent only through its session. */
function unpaidState(session: string, intent: string): 'OPEN' | 'PROCESSING' | 'CLOSED' | undefined {
  if (session === 'open') return 'OPEN';
  if (session !== 'expired' && session !== 'complete') return undefined;
  // A bank asks the buyer, or a voucher waits to be paid. Ends as succeeded or requires_payment_method.
  if (intent === 'requires_action') return 'PROCESSING';
  // Also for a complete session: its delayed payment failed, and it accepts no second one.
  return intent === 'requires_payment_method' || intent === 'canceled' ? 'CLOSED' : undefined;
}

function sessionEvidence({ id, status, payment_status }: Session): Record<string, unknown> {
  return { session: id, sessionStatus: status, paymentStatus: payment_status };
}

function unknown(session: Session, reason: string): QueryOutcome {
  return { type: 'UNKNOWN', reason, evidence: sessionEvidence(session) };
}
