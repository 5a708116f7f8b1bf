/** What a provider tells a shop of. `closed`: by the shop · `refunded`: a refund was completed, of all or of a part. */
export type PaymentEvent = 'paid' | 'closed' | 'refunded';

/** What the ledger does when something happened to a payment. */
export interface PaymentHooks<Payment> {
  happened(payment: Payment, event: PaymentEvent): void;
  /** `nextEventAt` is new. */
  planned(payment: Payment): void;
}
