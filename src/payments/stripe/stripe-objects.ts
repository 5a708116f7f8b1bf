import { z } from 'zod';
import {
  type PaymentEvidence,
  type QueryOutcome,
  type Notification,
  type RefundOutcome,
  type UnknownOutcome,
  ignored,
  unknown,
  untrusted,
} from '../payment-provider';

/** An amount in the currency's smallest unit. Only safe integers are accepted, so it was not rounded. */
const amount = z.int().min(0).transform(BigInt);

/** Stripe writes ISO 4217 codes in lower case. */
const currency = z
  .string()
  .regex(/^[a-z]{3}$/)
  .transform((given) => given.toUpperCase());

const instant = z
  .int()
  .min(0)
  .transform((seconds) => new Date(seconds * 1_000));

const id = z.string().min(1).max(255);

const metadata = z.record(z.string(), z.string()).nullish();

const charge = z.object({ id, refunded: z.boolean(), amount_refunded: amount, created: instant });

/** The fields that charges and refunds have in common. */
const refundNews = z.object({ id, payment_intent: z.string().regex(/^pi_/) });

/** A PaymentIntent as retrieved (latest_charge expanded), returned by cancel, or sent by a webhook. */
export const intentObject = z.object({
  id: z.string().regex(/^pi_/),
  object: z.literal('payment_intent'),
  status: z.string(),
  amount_received: amount,
  currency,
  livemode: z.boolean(),
  latest_charge: z.union([charge, id]).nullish(),
  metadata,
  payment_details: z.object({ order_reference: z.string().nullish() }).nullish(),
});

/** A Checkout Session. `payment_intent` is expanded in answers, and an id in webhooks. */
export const sessionObject = z.object({
  id: z.string().regex(/^cs_/),
  object: z.literal('checkout.session'),
  mode: z.string(),
  status: z.string(),
  payment_status: z.string(),
  amount_total: amount.nullish(),
  currency: currency.nullish(),
  /** Set when the session's amounts are not in the merchant's currency. */
  currency_conversion: z.unknown(),
  livemode: z.boolean(),
  payment_intent: z.union([intentObject, id]).nullish(),
});

export const refundObject = z.object({
  id: z.string().regex(/^(?:re|pyr)_/),
  object: z.literal('refund'),
  status: z.string().nullable(),
  amount,
  currency,
  payment_intent: id.nullish(),
  failure_reason: z.string().nullish(),
  metadata,
});

/** One page of an intent's refunds, newest first. */
export const refundList = z.object({
  object: z.literal('list'),
  data: z.array(refundObject),
  has_more: z.boolean(),
});

/** A Dispute: the bank takes the payment back, or asks about it. */
const disputeObject = z.object({
  id,
  object: z.literal('dispute'),
  amount,
  currency,
  payment_intent: z.string().regex(/^pi_/),
  charge: id.optional().catch(undefined),
  reason: z.string(),
  status: z.string(),
  evidence_details: z.object({ due_by: instant.nullish() }).nullish(),
});

const payable = z.object({ id: z.string().regex(/^(?:pi|cs)_/) });

/** A snapshot event, as webhooks send it. `account` is the connected account, if there is one. */
export const eventObject = z.object({
  id,
  object: z.literal('event'),
  type: z.string(),
  created: instant,
  livemode: z.boolean(),
  account: z.string().nullish(),
  data: z.object({ object: z.unknown() }),
});

export type Intent = z.output<typeof intentObject>;

export type Session = z.output<typeof sessionObject>;

export type Refund = z.output<typeof refundObject>;

export type StripeEvent = z.output<typeof eventObject>;

/** Every status of a PaymentIntent except `succeeded`, which is examined further. Other values are not recognized. */
const STATES: Readonly<Record<string, 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'CLOSED'>> = {
  requires_payment_method: 'OPEN',
  requires_confirmation: 'OPEN',
  requires_action: 'OPEN',
  processing: 'PROCESSING',
  requires_capture: 'AUTHORIZED',
  canceled: 'CLOSED',
};

export function toIntentOutcome(intent: Intent): QueryOutcome {
  const evidence = intentEvidence(intent);
  const { status } = intent;
  if (status === 'succeeded') return toSucceeded(intent, evidence);
  const type = Object.hasOwn(STATES, status) ? STATES[status] : undefined;
  if (!type) return unknown(`unknown payment intent status "${status}"`, { evidence });
  if (type === 'CLOSED' && intent.amount_received > 0n) {
    return unknown('the payment intent is canceled but shows received money', { evidence });
  }
  return { type, evidence };
}

function intentEvidence({ id, status, amount_received, currency, latest_charge }: Intent): PaymentEvidence {
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
    return unknown('the payment intent succeeded but shows no charge or no amount', { evidence });
  }
  if (charge.refunded) return { type: 'REFUNDED', evidence };
  return { type: 'PAID', amount, currency, paidAt: charge.created, transactionId: charge.id, evidence };
}

/**
 * Maps the state of a Checkout Session. Its `payment_intent.latest_charge` must be expanded. The intent decides whether
 * money was taken. The session decides whether a buyer can still start a payment.
 */
export function toSessionOutcome(session: Session): QueryOutcome {
  const { mode, status, payment_status, payment_intent: intent } = session;
  if (mode !== 'payment')
    return unclear(session, `the checkout session has mode "${mode}"; only "payment" is supported`);
  if (typeof intent === 'string') return unclear(session, 'the payment intent of the checkout session is not expanded');
  const evidence = sessionEvidence(session);
  if (intent) return withIntent(session, intent);
  if (status === 'open' && payment_status === 'unpaid') return { type: 'OPEN', evidence };
  if (status === 'expired' && payment_status === 'unpaid') return { type: 'CLOSED', evidence };
  return unclear(session, `the checkout session is "${status}" and "${payment_status}", but has no payment intent`);
}

function withIntent(session: Session, intent: Intent): QueryOutcome {
  const paid = toIntentOutcome(intent);
  const evidence = { ...sessionEvidence(session), ...paid.evidence };
  // Webhooks about sessions name the intent, not the charge. Both must give a payment the same transaction id.
  if (paid.type === 'PAID') return { ...paid, transactionId: intent.id, evidence };
  if (paid.type !== 'OPEN' && paid.type !== 'CLOSED') return { ...paid, evidence };
  if (session.payment_status !== 'unpaid')
    return unclear(session, 'the checkout session is paid, but its intent is not');
  const type = unpaidState(session.status, intent.status);
  if (type) return { type, evidence };
  return unclear(session, `unknown state: checkout session "${session.status}" with payment intent "${intent.status}"`);
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

function unclear(session: Session, reason: string): QueryOutcome {
  return unknown(reason, { evidence: sessionEvidence(session) });
}

/** Hosts set this in the metadata of intents that Checkout creates; see docs/stripe.md. */
const SESSION_MARK = 'order_timeout_attempt';

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
  const { id, payment_intent: reference, charge, amount, currency, reason, status, evidence_details } = parsed.data;
  if (event.type === 'charge.dispute.closed' && status !== 'lost') return ignored(`dispute ${id} ended: ${status}`);
  const dueBy = evidence_details?.due_by ? { evidenceDueBy: evidence_details.due_by.toISOString() } : {};
  const evidence = { ...evidenceOf(event), dispute: id, disputeReason: reason, disputeStatus: status, ...dueBy };
  const which = charge === undefined ? {} : { transactionId: charge };
  return { type: 'CHARGEBACK', reference, ...which, amount, currency, evidence };
}

function evidenceOf({ id, type, created }: StripeEvent): PaymentEvidence {
  return { event: id, eventType: type, eventCreated: created.toISOString() };
}

export interface ExpectedRefund {
  readonly refundNumber: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly paymentIntent: string;
}

export const REFUND_NUMBER = 'refundNumber';

/** Maps the state of our refund. A refund with another amount or payment is not ours, so it is UNKNOWN. */
export function toRefundOutcome(refund: Refund, expected: ExpectedRefund): RefundOutcome {
  const mismatch = findMismatch(refund, expected);
  if (mismatch !== undefined) return untrusted(`Stripe's refund ${refund.id} has a different ${mismatch}`);
  const { id, status, amount, currency } = refund;
  const evidence = { refund: id, status, amount: String(amount), currency };
  switch (refund.status) {
    case 'succeeded':
      return { type: 'REFUNDED', refundId: refund.id, evidence };
    case 'pending':
    case 'requires_action':
      return { type: 'PENDING', evidence };
    case 'failed':
    case 'canceled':
      return { type: 'REJECTED', reason: `refund ${refund.status}: ${refund.failure_reason ?? 'no reason'}`, evidence };
    default:
      return unknown(`unknown refund status "${refund.status ?? 'null'}"`, { evidence });
  }
}

function findMismatch(refund: Refund, expected: ExpectedRefund): string | undefined {
  if (refund.metadata?.[REFUND_NUMBER] !== expected.refundNumber) return 'number';
  if (refund.amount !== expected.amount) return 'amount';
  if (refund.currency !== expected.currency) return 'currency';
  return refund.payment_intent === expected.paymentIntent ? undefined : 'payment intent';
}

export interface Found<T> {
  readonly type: 'FOUND';
  readonly object: T;
}

interface Expected {
  readonly id: string;
  /** Undefined: the mode of the merchant's key is unknown and is not checked. */
  readonly livemode: boolean | undefined;
}

/** Returns the requested object, or UNKNOWN if the answer is not as documented, or has another id or the other mode. */
export function recognize<T extends { readonly id: string; readonly livemode: boolean }>(
  schema: z.ZodType<T>,
  body: unknown,
  expected: Expected,
): Found<T> | UnknownOutcome {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return unrecognized(parsed.error);
  const { id, livemode } = parsed.data;
  if (id !== expected.id) return untrusted(`Stripe answered about ${id} instead of ${expected.id}`);
  if (expected.livemode !== undefined && livemode !== expected.livemode) {
    return untrusted(`Stripe answered from ${livemode ? 'live' : 'test'} mode, which is not the merchant's`);
  }
  return { type: 'FOUND', object: parsed.data };
}

/** The answer does not have the documented format. */
export function unrecognized(error: z.ZodError): UnknownOutcome {
  const problems = error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`).slice(0, 3);
  return unknown(`Stripe's answer is not recognized: ${problems.join('; ')}`);
}
