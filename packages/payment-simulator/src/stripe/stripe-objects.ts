import { type LedgerEntry, type LedgerRefund, type SimulatedStatus } from '../ledger-entry';

const INTENT_STATUS: Readonly<Record<SimulatedStatus, string>> = {
  OPEN: 'requires_payment_method',
  PROCESSING: 'processing',
  AUTHORIZED: 'requires_capture',
  PAID: 'succeeded',
  REFUNDED: 'succeeded',
  CLOSED: 'canceled',
};

const REFUND_STATUS: Readonly<Record<LedgerRefund['status'], string>> = {
  PENDING: 'pending',
  REFUNDED: 'succeeded',
  REJECTED: 'failed',
  FAILED: 'failed',
};

/** How long a shop may defend itself. */
const EVIDENCE_SECONDS = 7 * 86_400;

type StripeObject = Readonly<Record<string, unknown>>;

/** Whether a payment is sold through a Checkout Session. */
export function isSession(reference: string): boolean {
  return reference.startsWith('cs_');
}

/** The intent of a payment; a session's own one appears when the buyer acts. */
export function intentIdOf(reference: string): string {
  return isSession(reference) ? `pi_${reference}` : reference;
}

/** The payment whose intent this is. */
export function referenceOfIntent(id: string): string {
  return id.startsWith('pi_cs_') ? id.slice('pi_'.length) : id;
}

/** A PaymentIntent. @param isExpanded whether `latest_charge` is the object and not its id. */
export function intentOf(entry: LedgerEntry, isExpanded: boolean): StripeObject {
  const { reference, status } = entry;
  const isTaken = entry.paidAmount !== null;
  const charge = isExpanded ? chargeOf(entry) : chargeIdOf(entry);
  return {
    id: intentIdOf(reference),
    object: 'payment_intent',
    amount: Number(entry.amount),
    amount_capturable: status === 'AUTHORIZED' ? Number(entry.amount) : 0,
    amount_received: Number(entry.paidAmount ?? 0),
    canceled_at: seconds(entry.closedAt),
    cancellation_reason: status === 'CLOSED' ? 'abandoned' : null,
    client_secret: `${intentIdOf(reference)}_secret_simulated`,
    created: seconds(entry.createdAt),
    currency: currencyOf(entry),
    latest_charge: isTaken ? charge : null,
    livemode: false,
    metadata: metadataOf(entry),
    payment_details: { customer_reference: null, order_reference: isSession(reference) ? reference : null },
    status: INTENT_STATUS[status],
  };
}

/** The charge that took the money. */
export function chargeOf(entry: LedgerEntry): StripeObject {
  return {
    id: chargeIdOf(entry),
    object: 'charge',
    amount: Number(entry.paidAmount ?? 0),
    amount_refunded: Number(entry.refundedAmount),
    created: seconds(entry.paidAt),
    currency: currencyOf(entry),
    livemode: false,
    metadata: metadataOf(entry),
    payment_intent: intentIdOf(entry.reference),
    refunded: entry.status === 'REFUNDED',
    status: 'succeeded',
  };
}

/** A Checkout Session. @param now epoch milliseconds. */
export function sessionOf(
  entry: LedgerEntry,
  expiresAt: number | undefined,
  now: number,
  isExpanded: boolean,
): StripeObject {
  const { reference, status } = entry;
  const hasIntent = status !== 'OPEN' && status !== 'CLOSED';
  return {
    id: reference,
    object: 'checkout.session',
    amount_total: Number(entry.paidAmount ?? entry.amount),
    client_reference_id: entry.orderId,
    created: seconds(entry.createdAt),
    currency: currencyOf(entry),
    currency_conversion: null,
    expires_at: expiresAt === undefined ? null : Math.floor(expiresAt / 1_000),
    livemode: false,
    metadata: metadataOf(entry),
    mode: 'payment',
    payment_intent: hasIntent ? (isExpanded ? intentOf(entry, true) : intentIdOf(reference)) : null,
    payment_status: entry.paidAmount === null ? 'unpaid' : 'paid',
    status: sessionStatus(status, expiresAt, now),
    url: `https://checkout.stripe.com/c/pay/${reference}`,
  };
}

/** A Refund. `number`: the shop's, without what the simulator appends to tell two of the same number apart. */
export function refundOf(entry: LedgerEntry, refund: LedgerRefund): StripeObject {
  const [number = ''] = refund.number.split('#');
  return {
    id: `re_${refund.refundId.replace(/\W/g, '_')}`,
    object: 'refund',
    amount: Number(refund.amount),
    charge: chargeIdOf(entry),
    created: seconds(refund.refundedAt) ?? seconds(entry.paidAt),
    currency: currencyOf(entry),
    metadata: { refundNumber: number },
    payment_intent: intentIdOf(entry.reference),
    status: REFUND_STATUS[refund.status],
    ...(refund.status === 'FAILED' && { failure_reason: 'expired_or_canceled_card' }),
  };
}

/** A Dispute of all that was paid. */
export function disputeOf(entry: LedgerEntry): StripeObject {
  return {
    id: `dp_${entry.reference}`,
    object: 'dispute',
    amount: Number(entry.paidAmount ?? 0),
    charge: chargeIdOf(entry),
    created: seconds(entry.disputedAt),
    currency: currencyOf(entry),
    evidence_details: { due_by: (seconds(entry.disputedAt) ?? 0) + EVIDENCE_SECONDS, has_evidence: false },
    livemode: false,
    payment_intent: intentIdOf(entry.reference),
    reason: 'fraudulent',
    status: 'needs_response',
  };
}

function sessionStatus(status: SimulatedStatus, expiresAt: number | undefined, now: number): string {
  if (status === 'CLOSED') return 'expired';
  if (status !== 'OPEN') return 'complete';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'open';
}

function metadataOf({ orderId }: LedgerEntry): Record<string, string> {
  return orderId === null ? {} : { order_id: orderId };
}

function chargeIdOf({ reference }: LedgerEntry): string {
  return `ch_${reference}`;
}

function currencyOf({ currency, paidCurrency }: LedgerEntry): string {
  return (paidCurrency ?? currency).toLowerCase();
}

function seconds(iso: string | null): number | null {
  return iso === null ? null : Math.floor(Date.parse(iso) / 1_000);
}
