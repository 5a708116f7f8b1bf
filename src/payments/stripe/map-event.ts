import { type z } from 'zod';
import { type Notification } from '../payment-notification';
import { type PaymentEvidence } from '../payment-outcome';
import {
  disputeObject,
  type Intent,
  intentObject,
  payable,
  refundNews,
  type Session,
  sessionObject,
  type StripeEvent,
} from './stripe-objects';

/** Hosts set this in the metadata of intents that Checkout creates; see docs/stripe.md. */
export const SESSION_MARK = 'order_timeout_attempt';

type Reader = (event: StripeEvent) => Notification;

/** The events about payments. All others are ignored. */
const READERS: Readonly<Record<string, Reader>> = {
  'payment_intent.succeeded': ofIntent(paidIntent),
  'payment_intent.processing': ofIntent(changeOfIntent),
  'payment_intent.amount_capturable_updated': ofIntent(changeOfIntent),
  'payment_intent.canceled': ofIntent(changeOfIntent),
  'checkout.session.completed': ofSession(completedSession),
  'checkout.session.async_payment_succeeded': ofSession(completedSession),
  'checkout.session.async_payment_failed': ofSession(changeOfSession),
  'checkout.session.expired': ofSession(changeOfSession),
  'charge.refunded': refunded,
  'refund.updated': refunded,
  'refund.failed': refunded,
  'charge.dispute.created': disputed,
  'charge.dispute.funds_withdrawn': disputed,
  'charge.dispute.closed': disputed,
};

/** Maps a verified event. If its object is not as documented, the payment is looked up, or the event is ignored. */
export function toNotification(event: StripeEvent): Notification {
  const reader = Object.hasOwn(READERS, event.type) ? READERS[event.type] : undefined;
  return reader ? reader(event) : ignored(`event ${event.type} is not used`);
}

function ofIntent(read: (event: StripeEvent, intent: Intent) => Notification): Reader {
  return reading(intentObject, (event, intent) => {
    // The attempt is registered with the session's id, and the session has its own events.
    if (isOfSession(intent)) return ignored(`payment intent ${intent.id} belongs to a checkout session`);
    return read(event, intent);
  });
}

function ofSession(read: (event: StripeEvent, session: Session) => Notification): Reader {
  return reading(sessionObject, read);
}

function reading<T>(schema: z.ZodType<T>, read: (event: StripeEvent, object: T) => Notification): Reader {
  return (event) => {
    const parsed = schema.safeParse(event.data.object);
    if (parsed.success) return read(event, parsed.data);
    // Perhaps an unknown API version. A look-up returns the object in the version of the SDK.
    const nameable = payable.safeParse(event.data.object);
    if (!nameable.success) return ignored(`object of event ${event.type} does not have the documented format`);
    return { type: 'STATUS_CHANGED', reference: nameable.data.id, evidence: evidenceOf(event) };
  };
}

/** Checkout writes the session id into the order reference of its intents, unless the host sets one. */
function isOfSession({ payment_details: details, metadata }: Intent): boolean {
  return (details?.order_reference ?? '').startsWith('cs_') || metadata?.[SESSION_MARK] === 'session';
}

function paidIntent(event: StripeEvent, intent: Intent): Notification {
  const { id, status, amount_received: amount, currency, latest_charge: charge } = intent;
  const transactionId = typeof charge === 'object' ? charge?.id : charge;
  if (status !== 'succeeded' || amount === 0n || transactionId === undefined) return changeOfIntent(event, intent);
  const evidence = { ...evidenceOf(event), paymentIntent: id, amountReceived: String(amount), currency };
  return { type: 'PAID', reference: id, amount, currency, paidAt: event.created, transactionId, evidence };
}

function changeOfIntent(event: StripeEvent, { id, status }: Intent): Notification {
  return { type: 'STATUS_CHANGED', reference: id, evidence: { ...evidenceOf(event), paymentIntent: id, status } };
}

/** A completed session may stay unpaid for days (delayed methods). Unless it is plainly paid, it is looked up. */
function completedSession(event: StripeEvent, session: Session): Notification {
  const { id, mode, payment_status, amount_total: amount, currency, currency_conversion, payment_intent } = session;
  const transactionId = typeof payment_intent === 'object' ? payment_intent?.id : payment_intent;
  const isPlain = mode === 'payment' && payment_status === 'paid' && (currency_conversion ?? null) === null;
  if (!isPlain || !amount || !currency || transactionId === undefined) return changeOfSession(event, session);
  const evidence = { ...evidenceOf(event), session: id, amountTotal: String(amount), currency, transactionId };
  return { type: 'PAID', reference: id, amount, currency, paidAt: event.created, transactionId, evidence };
}

function changeOfSession(event: StripeEvent, { id, status, payment_status }: Session): Notification {
  const evidence = { ...evidenceOf(event), session: id, sessionStatus: status, paymentStatus: payment_status };
  return { type: 'STATUS_CHANGED', reference: id, evidence };
}

/** Charges and refunds name the intent, but not the session that owns it. */
function refunded(event: StripeEvent): Notification {
  const parsed = refundNews.safeParse(event.data.object);
  if (!parsed.success) return ignored(`object of event ${event.type} names no payment intent`);
  const { id, payment_intent: reference } = parsed.data;
  return { type: 'STATUS_CHANGED', reference, evidence: { ...evidenceOf(event), object: id } };
}

/** The order keeps a payment whose dispute was won, and an inquiry that the bank has closed. */
function disputed(event: StripeEvent): Notification {
  const parsed = disputeObject.safeParse(event.data.object);
  if (!parsed.success) return ignored(`object of event ${event.type} is not a dispute of a payment intent`);
  const { id, payment_intent: reference, amount, currency, reason, status, evidence_details: details } = parsed.data;
  if (event.type === 'charge.dispute.closed' && status !== 'lost') return ignored(`dispute ${id} ended: ${status}`);
  const dueBy = details?.due_by ? { evidenceDueBy: details.due_by.toISOString() } : {};
  const evidence = { ...evidenceOf(event), dispute: id, disputeReason: reason, disputeStatus: status, ...dueBy };
  return { type: 'CHARGEBACK', reference, amount, currency, evidence };
}

function evidenceOf({ id, type, created }: StripeEvent): PaymentEvidence {
  return { event: id, eventType: type, eventCreated: created.toISOString() };
}

function ignored(reason: string): Notification {
  return { type: 'IGNORED', reason };
}
