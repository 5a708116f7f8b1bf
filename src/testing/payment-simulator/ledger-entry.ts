/** Status of a payment inside the simulator. */
export type SimulatedStatus = 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'PAID' | 'CLOSED' | 'REFUNDED';

/** The truth about one payment, as `GET /script/ledger` tells it. Instants are ISO strings. */
export interface LedgerEntry {
  readonly reference: string;
  readonly orderId: string | null;
  readonly merchantAccount: string | null;
  /** Minor units as digits. */
  readonly amount: string;
  readonly currency: string;
  readonly status: SimulatedStatus;
  readonly createdAt: string;
  readonly paidAt: string | null;
  readonly closedAt: string | null;
  readonly refundedAt: string | null;
  readonly transactionId: string | null;
  /** Who was first: the buyer who paid, or the shop that closed. */
  readonly winner: 'buyer' | 'shop' | null;
  /** Payments the buyer tried and was refused. */
  readonly refusedPays: number;
  readonly queries: number;
  readonly closes: number;
  readonly notifications: { readonly sent: number; readonly lost: number; readonly failed: number };
}
