import { randomUUID } from 'node:crypto';
import { httpSignature } from './http-signature';
import { type NotificationPost } from './protocol';
import { type SimulatedPayment } from './simulated-payment';

interface NotificationSigning {
  /** What the shop calls the provider. */
  readonly provider: string;
  readonly url: URL;
  readonly secret: string;
}

/** What our own protocol tells a shop of a payment: what a host posts to `/orders/{id}/paid`, signed like a request. */
export function paymentNotificationPost(
  payment: SimulatedPayment,
  signing: NotificationSigning,
  nowMs: number,
): NotificationPost {
  const body = JSON.stringify(contentOf(payment, signing.provider, nowMs));
  const [timestamp, nonce] = [String(Math.floor(nowMs / 1_000)), randomUUID()];
  const path = signing.url.pathname + signing.url.search;
  const headers = {
    'content-type': 'application/json',
    'x-timestamp': timestamp,
    'x-nonce': nonce,
    'x-signature': httpSignature(signing.secret, [timestamp, `POST ${path}`, nonce], body),
  };
  return { headers, body };
}

function contentOf(payment: SimulatedPayment, provider: string, nowMs: number): Record<string, unknown> {
  const { orderId, paidAmount, paidCurrency: currency, paidAt, transactionId } = payment.entry(nowMs);
  const { reference, merchantAccount } = payment.terms;
  const content = { provider, reference, merchantAccount, currency, paidAt, transactionId };
  // A JSON number, as in the shop's own API: the amounts of a simulator stay below 2^53.
  return { ...content, orderId: orderId ?? undefined, amount: Number(paidAmount) };
}
