/** Status of a payment inside the simulator. */
export type SimulatedStatus = 'OPEN' | 'PROCESSING' | 'AUTHORIZED' | 'PAID' | 'CLOSED' | 'REFUNDED';

/** One refund that the shop asked for. */
export interface LedgerRefund {
  /** The shop's number of it. */
  readonly number: string;
  /** The provider's number of it. */
  readonly refundId: string;
  /** Minor units as digits. */
  readonly amount: string;
  /** `FAILED`: it was completed, and then the money came back. */
  readonly status: 'REFUNDED' | 'PENDING' | 'REJECTED' | 'FAILED';
  /** Why it was rejected. */
  readonly reason: 'not-paid' | 'too-much' | 'scripted' | null;
  readonly refundedAt: string | null;
}

/** The truth about one payment, as `GET /script/ledger` tells it. Instants are ISO strings. */
export interface LedgerEntry {
  /** Whose protocol: `simulator`, `alipay`, `wechat-pay` or `stripe`. */
  readonly provider: string;
  /** Unique per provider and merchant account. */
  readonly reference: string;
  readonly orderId: string | null;
  readonly merchantAccount: string | null;
  /** What was asked for, in minor units as digits. */
  readonly amount: string;
  readonly currency: string;
  readonly status: SimulatedStatus;
  readonly createdAt: string;
  /** Since when the provider knows of it; null: the buyer has not scanned it yet. */
  readonly scannedAt: string | null;
  readonly paidAt: string | null;
  /** What was taken, in minor units as digits. */
  readonly paidAmount: string | null;
  readonly paidCurrency: string | null;
  readonly closedAt: string | null;
  /** When all of it was refunded. */
  readonly refundedAt: string | null;
  /** What was refunded so far, in minor units as digits. */
  readonly refundedAmount: string;
  readonly refunds: readonly LedgerRefund[];
  /** When the buyer's bank took it back. */
  readonly disputedAt: string | null;
  readonly transactionId: string | null;
  /** Who was first: the buyer who paid, or the shop that closed. */
  readonly winner: 'buyer' | 'shop' | null;
  /** Payments the buyer tried and was refused. */
  readonly refusedPays: number;
  readonly queries: number;
  readonly closes: number;
  /** Posts: answered 2xx, acknowledged in the protocol's words, answered otherwise or not at all, lost, forged. */
  readonly notifications: NotificationCounts;
}

/** How telling the shop went. */
export interface NotificationCounts {
  readonly sent: number;
  readonly acknowledged: number;
  readonly failed: number;
  readonly lost: number;
  readonly forged: number;
}
