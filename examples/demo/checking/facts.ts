import {
  type EventFact,
  type HistoryFact,
  type UnmatchedFact,
  type ReservationFact,
} from '../../../test/support/checks/facts';
import { type MoneyFacts } from '../../../test/support/checks/money-checks';
import { type PlannedOrder } from '../buyers/planned-order';

/** What the payment provider's own books say. */
export interface LedgerFact {
  readonly status: string;
  readonly isClosed: boolean;
  /** How often a buyer was turned away. */
  readonly refusedPays: number;
}

/** One order as it was planned and as it was found. */
export interface OrderFact {
  readonly plan: PlannedOrder;
  /** Absent: it is not in the database. */
  readonly stored?: {
    readonly status: string;
    readonly version: number;
    /** Epoch milliseconds. */
    readonly expiresAt: number;
    readonly graceMs: number;
  };
  readonly history: readonly HistoryFact[];
  readonly reservations: readonly ReservationFact[];
  /** Absent: no payment was begun. */
  readonly ledger?: LedgerFact;
}

export interface StockFact {
  readonly sku: string;
  readonly initial: number;
  readonly onHand: number;
  readonly reserved: number;
}

/** Something that the service refused, or never answered: a request, or a command that was parked. */
export interface RefusalFact {
  readonly orderId: string;
  readonly code: string;
  readonly says: string;
}

/** Everything that is known at the end of a run. */
export interface Facts {
  readonly orders: readonly OrderFact[];
  readonly stock: readonly StockFact[];
  /** Without one nothing is known of events. */
  readonly hasBroker: boolean;
  readonly events: readonly EventFact[];
  /** Rows of the shop's own table, written in the transactions that placed orders by the module API. */
  readonly baskets: readonly string[];
  /** Orders in the database that nobody planned: those of transactions that were rolled back. */
  readonly unplannedOrders: readonly string[];
  readonly outboxRows: number;
  readonly pendingTimeouts: number;
  readonly parkedTimeouts: readonly string[];
  readonly parkedMessages: readonly RefusalFact[];
  readonly unmatchedPayments: readonly UnmatchedFact[];
  readonly money: MoneyFacts;
  /** By the answers that the shops got. */
  readonly refusals: readonly RefusalFact[];
  /** The service was killed in the middle. */
  readonly wasKilled: boolean;
  /** 1 on a quiet machine; by this the limits of time are longer. */
  readonly slowness: number;
}

export const TERMINAL: readonly string[] = ['PAID', 'CLOSED', 'CANCELLED'];
