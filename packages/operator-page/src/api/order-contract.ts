import { type OrderStatus } from './contract';

export interface OrderLine {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: number;
}

export interface Attempt {
  readonly provider: string;
  readonly reference: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly merchantAccount?: string;
  readonly timeExpire?: string;
  readonly createdAt: string;
  readonly paidAmount?: number;
  readonly paidCurrency?: string;
  readonly paidAt?: string;
  readonly transactionId?: string;
}

export type TimelineKind = 'history' | 'attempt' | 'look-up' | 'refund' | 'event' | 'unmatched';

export interface TimelineEntry {
  readonly at: string;
  readonly what: TimelineKind;
  readonly title: string;
  readonly cause: string | null;
  readonly actor: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface StockHeld {
  readonly sku: string;
  readonly quantity: number;
  readonly state: string;
}

export interface OrderTimeout {
  readonly kind: string;
  readonly state: string;
  readonly dueAt: string;
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface OrderDetails {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: string;
  readonly expired: boolean;
  readonly payable: boolean;
  readonly autoClose: boolean;
  readonly lines: readonly OrderLine[];
  readonly attempts: readonly Attempt[];
  readonly createdAt: string;
  readonly paidAt?: string;
  readonly closedAt?: string;
  readonly timeline: readonly TimelineEntry[];
  readonly stock: readonly StockHeld[];
  readonly timeouts: readonly OrderTimeout[];
  readonly unmatched: readonly UnmatchedPayment[];
  /** `hidden`: there is metadata or evidence that `reveal` shows. */
  readonly personal: 'hidden' | 'none';
}

/** What `reveal` shows. */
export interface Revealed {
  readonly metadata: unknown;
  readonly evidence: unknown;
}

export interface UnmatchedPayment {
  readonly id: string;
  readonly reason: string;
  readonly handling: string;
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  readonly merchantAccount: string | null;
  readonly amount: number;
  readonly currency: string;
  readonly source: string;
  readonly createdAt: string;
  readonly resolvedAt: string | null;
  readonly resolvedBy: string | null;
  readonly resolution: string | null;
}
