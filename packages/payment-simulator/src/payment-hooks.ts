/**
 * What a provider tells a shop of. `closed`: by the shop · `refunded`: a refund was completed, of all or of a part ·
 * `refund-failed`: the money of a completed refund came back · `disputed`: the buyer's bank takes the payment back.
 */
export const PAYMENT_EVENTS = ['paid', 'closed', 'refunded', 'refund-failed', 'disputed'] as const;

export type PaymentEvent = (typeof PAYMENT_EVENTS)[number];

/** What the ledger does when something happened to a payment. */
export interface PaymentHooks<Payment> {
  happened(payment: Payment, event: PaymentEvent): void;
  /** `nextEventAt` is new. */
  planned(payment: Payment): void;
}
