import { createHash, createHmac } from 'node:crypto';
import { type LedgerEntry } from '../ledger-entry';
import { type PaymentEvent } from '../payment-hooks';
import { type NotificationPost } from '../protocol';
import { type SimulatedPayment } from '../simulated-payment';
import { type StripeSimulatedMerchant } from './stripe-merchants';
import { chargeOf, disputeOf, intentOf, isSession, refundOf, sessionOf } from './stripe-objects';

type StripeObject = Readonly<Record<string, unknown>>;

/** The signed event about what happened to a payment, by `now` (epoch milliseconds). */
export function stripeEvent(
  payment: SimulatedPayment,
  event: PaymentEvent,
  merchant: StripeSimulatedMerchant,
  now: number,
): NotificationPost {
  const { stripeAccount: account } = merchant;
  const type = typeOf(payment, event);
  const entry = payment.entry(now);
  const at = {
    ...{ paid: entry.paidAt, closed: entry.closedAt, refunded: entry.refundedAt },
    ...{ 'refund-failed': null, disputed: entry.disputedAt },
  }[event];
  const body = JSON.stringify({
    // The same for every delivery of it.
    id: `evt_${createHash('sha256').update([type, entry.reference, entry.refundedAmount].join()).digest('hex').slice(0, 24)}`,
    object: 'event',
    ...(account === undefined ? {} : { account }),
    api_version: payment.terms.notify?.oldForm ? '2019-12-03' : '2026-10-28.endive',
    created: Math.floor((at === null ? now : Date.parse(at)) / 1_000),
    data: { object: objectOf(payment, event, now) },
    livemode: false,
    pending_webhooks: 1,
    type,
  });
  return { headers: { 'content-type': 'application/json', ...sign(merchant, body, now) }, body };
}

function typeOf({ terms }: SimulatedPayment, event: PaymentEvent): string {
  const session = isSession(terms.reference);
  switch (event) {
    case 'paid':
      if (!session) return 'payment_intent.succeeded';
      return 'processingMs' in terms.script && terms.script.processingMs > 0
        ? 'checkout.session.async_payment_succeeded'
        : 'checkout.session.completed';
    case 'closed':
      return session ? 'checkout.session.expired' : 'payment_intent.canceled';
    case 'refunded':
      return 'charge.refunded';
    case 'refund-failed':
      return 'refund.failed';
    case 'disputed':
      return 'charge.dispute.created';
  }
}

function objectOf(payment: SimulatedPayment, event: PaymentEvent, now: number): StripeObject {
  const entry = payment.entry(now);
  if (event === 'refunded') return chargeOf(entry);
  if (event === 'disputed') return disputeOf(entry);
  const failed = entry.refunds.findLast(({ status }) => status === 'FAILED');
  if (event === 'refund-failed' && failed) return refundOf(entry, failed);
  const { reference, timeExpire, notify } = payment.terms;
  const object = isSession(reference) ? sessionOf(entry, timeExpire, now, false) : intentOf(entry, false);
  return notify?.oldForm ? inOldForm(object, entry) : object;
}

/** Intents listed their charges, and sessions had neither states nor totals. */
function inOldForm(object: StripeObject, entry: LedgerEntry): StripeObject {
  const isIntent = object['object'] === 'payment_intent';
  const newer = isIntent ? ['latest_charge'] : ['status', 'payment_status', 'amount_total'];
  const older = Object.fromEntries(Object.entries(object).filter(([name]) => !newer.includes(name)));
  return isIntent ? { ...older, charges: { object: 'list', data: [chargeOf(entry)] } } : older;
}

/** `t={epoch seconds},v1={hex HMAC-SHA256 over "t.body"}`, one v1 for each secret. */
function sign({ webhookSecrets }: StripeSimulatedMerchant, body: string, now: number): Record<string, string> {
  const timestamp = Math.floor(now / 1_000);
  const signatures = webhookSecrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`,
  );
  return { 'stripe-signature': [`t=${timestamp}`, ...signatures].join(',') };
}
