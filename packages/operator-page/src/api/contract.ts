/** What the operator API answers. Instants are ISO 8601, amounts are integers in minor units. */
export const ROLES = ['read', 'operate', 'money', 'reveal'] as const;
export type Role = (typeof ROLES)[number];

export interface Session {
  readonly name: string;
  readonly roles: readonly Role[];
  /** Null: every merchant. */
  readonly merchants: readonly string[] | null;
  readonly csrf: string;
  readonly expiresAt: string;
  readonly version: string;
}

export const ORDER_STATUSES = [
  'PENDING',
  'CLOSING',
  'PAID',
  'CLOSED',
  'CANCELLED',
  'REFUNDING',
  'CLOSED_REFUNDED',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

export type ClockName = 'message' | 'sweep' | 'access';

/** How late timeouts were. Null: there were none. */
export interface Lateness {
  readonly clock: ClockName;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly count: number;
}

export type BreakerState = 'closed' | 'half-open' | 'open';

/** Who paused something, and why. */
export interface PauseReason {
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}

export interface ProviderState {
  readonly name: string;
  readonly breaker: BreakerState;
  /** Undefined: the service cannot pause. */
  readonly paused?: boolean;
  readonly pause?: PauseReason | null;
  /** Null: as configured. */
  readonly limitPerSecond?: number | null;
  readonly configuredPerSecond?: number;
}

export interface KindState {
  readonly kind: string;
  readonly parked: number | null;
  /** Undefined: the service cannot pause. */
  readonly paused?: boolean;
  readonly pause?: PauseReason | null;
  readonly overdueOldestSeconds: number | null;
}

/** What the database would have to say is null while it does not answer. */
export interface Overview {
  readonly now: string;
  readonly orders: OrderCounts | null;
  readonly due: { readonly nextMinute: number; readonly nextHour: readonly number[]; readonly overdue: number } | null;
  readonly lateness: readonly Lateness[];
  readonly transport: { readonly name: string; readonly why: string; readonly since: string } | null;
  readonly broker: { readonly state: string; readonly messagePath?: string; readonly cause: string | null };
  readonly database: { readonly state: string };
  readonly outbox: { readonly waiting: number; readonly oldestSeconds: number; readonly parked: number } | null;
  readonly providers: readonly ProviderState[];
  readonly kinds: readonly KindState[];
  readonly attention: Attention;
}

export interface OrderCounts {
  readonly pending: number;
  readonly closing: number;
  readonly paid24h: number;
  readonly closed24h: number;
  /** There are more, which were not counted. */
  readonly partial?: boolean;
}

/** Null: nobody can say at the moment. */
export interface Attention {
  readonly parkedTimeouts: number | null;
  readonly unmatchedPayments: number | null;
  readonly refundsFailed: number | null;
  readonly parkedMessages: number | null;
}

export interface OrderSummary {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: string;
  readonly expired: boolean;
  readonly createdAt: string;
  readonly payable: boolean;
}

export interface OrderList {
  readonly orders: readonly OrderSummary[];
  readonly next: string | null;
}
