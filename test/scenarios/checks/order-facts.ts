import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { type EventFact, type HistoryFact, type ReservationFact, type StoredOrder } from '../../support/checks/facts';
import { type Placed } from '../playing/placed-order';

/** A row of payment_attempt. */
export interface AttemptFact {
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  readonly status: string;
  readonly paidAmount: string | null;
  readonly paidCurrency: string | null;
}

/** A row of refund. */
export interface RefundFact {
  readonly orderId: string;
  readonly number: string;
  readonly provider: string;
  readonly reference: string;
  readonly amount: string;
  readonly status: string;
}

/** A row of unmatched_payment. */
export interface UnmatchedFact {
  readonly orderId: string | null;
  readonly provider: string;
  readonly merchantAccount: string;
  readonly reference: string;
  readonly reason: string;
  readonly handling: string;
}

/** A row of timeout: something that is not done yet. */
export interface TimeoutFact {
  readonly kind: string;
  readonly key: string;
  readonly state: string;
  readonly attempts: number;
  readonly lastError: string | null;
}

/** Everything that anybody knows of one order at the end. */
export interface OrderFacts {
  readonly order: Placed;
  readonly stored: StoredOrder | undefined;
  readonly history: readonly HistoryFact[];
  readonly reservations: readonly ReservationFact[];
  readonly attempts: readonly AttemptFact[];
  readonly refunds: readonly RefundFact[];
  readonly unmatched: readonly UnmatchedFact[];
  readonly timeouts: readonly TimeoutFact[];
  /** The provider's books of the payments that are this order's. */
  readonly ledger: readonly LedgerEntry[];
  /** Those of payments that have to do with the story, and belong to no order. */
  readonly foreign: readonly LedgerEntry[];
  readonly events: readonly EventFact[];
}
