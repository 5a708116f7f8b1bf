import { type PaymentEvidence, type QueryOutcome } from '../payment-outcome';
import { type Intent } from './stripe-objects';

/** Every status of a PaymentIntent except `succeeded`, which is examined further. Other values are not recognized. */
const STATES: Readonly<Record<string, 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'CLOSED'>> = {
  requires_payment_method: 'OPEN',
  requires_confirmation: 'OPEN',
  requires_action: 'OPEN',
  processing: 'PROCESSING',
  requires_capture: 'AUTHORIZED',
  canceled: 'CLOSED',
};

/** Maps the state of an intent. Its `latest_charge` must be expanded. */
export function toIntentOutcome(intent: Intent): QueryOutcome {
  const evidence = intentEvidence(intent);
  const { status } = intent;
  if (status === 'succeeded') return toSucceeded(intent, evidence);
  const type = Object.hasOwn(STATES, status) ? STATES[status] : undefined;
  if (!type) return { type: 'UNKNOWN', reason: `unknown payment intent status "${status}"`, evidence };
  if (type === 'CLOSED' && intent.amount_received > 0n) {
    return { type: 'UNKNOWN', reason: 'the payment intent is canceled but shows received money', evidence };
  }
  return { type, evidence };
}

/** The part of an intent that is kept in the order's history. */
export function intentEvidence({ id, status, amount_received, currency, latest_charge }: Intent): PaymentEvidence {
  const charge = typeof latest_charge === 'object' && latest_charge !== null ? latest_charge : undefined;
  return {
    paymentIntent: id,
    status,
    amountReceived: String(amount_received),
    currency,
    charge: charge?.id ?? latest_charge ?? null,
    ...(charge ? { amountRefunded: String(charge.amount_refunded) } : {}),
  };
}

function toSucceeded(intent: Intent, evidence: PaymentEvidence): QueryOutcome {
  const { latest_charge: charge, amount_received: amount, currency } = intent;
  if (typeof charge !== 'object' || charge === null || amount === 0n) {
    return { type: 'UNKNOWN', reason: 'the payment intent succeeded but shows no charge or no amount', evidence };
  }
  if (charge.refunded) return { type: 'REFUNDED', evidence };
  return { type: 'PAID', amount, currency, paidAt: charge.created, transactionId: charge.id, evidence };
}
