import { type ClosingReason, type Order } from '../order';
import { type OrderStatus } from '../order-status';
import { type AttemptStatus } from '../attempt-status';
import { type PaidSource, type PaymentAttempt } from '../payment-attempt';

/** Columns of an order. The table's alias must be `o`. */
export const ORDER_COLUMNS = `o.id, o.merchant_id, o.status, o.version, o.amount, o.currency, o.expires_at, o.auto_close,
  o.grace_ms, o.reminder_offsets_ms, o.closing_reason, o.created_at, o.closed_at, o.paid_at,
  o.erased_at`;

/**
 * Columns of an attempt for json_agg. The table's alias must be `a`. Money is text, because JSON numbers cannot hold a
 * bigint.
 */
export const ATTEMPT_COLUMNS = `a.order_id, a.provider, a.reference, a.merchant_account, a.resolved_account, a.status, a.amount::text AS amount,
  a.currency, a.time_expire, a.created_at, a.registered, a.paid_amount::text AS paid_amount, a.paid_currency, a.paid_at,
  a.refunded_amount::text AS refunded_amount, a.transaction_id, a.paid_source`;

/** A row with ORDER_COLUMNS as the driver returns it. */
export interface OrderRow {
  readonly id: string;
  readonly merchant_id: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly amount: string;
  readonly currency: string;
  readonly expires_at: Date;
  readonly auto_close: boolean;
  readonly grace_ms: number;
  readonly reminder_offsets_ms: string[];
  readonly closing_reason: ClosingReason | null;
  readonly created_at: Date;
  readonly closed_at: Date | null;
  readonly paid_at: Date | null;
  readonly erased_at: Date | null;
}

/** A row with ATTEMPT_COLUMNS as json_agg returns it. */
export interface AttemptRow {
  readonly order_id: string;
  readonly provider: string;
  readonly reference: string;
  /** Empty: none. */
  readonly merchant_account: string;
  readonly resolved_account: string | null;
  readonly status: AttemptStatus;
  readonly amount: string;
  readonly currency: string;
  readonly time_expire: string | null;
  readonly created_at: string;
  readonly paid_amount: string | null;
  readonly refunded_amount: string;
  readonly paid_currency: string | null;
  readonly paid_at: string | null;
  readonly transaction_id: string | null;
  readonly registered: boolean;
  readonly paid_source: PaidSource | null;
}

export function toOrder(row: OrderRow): Order {
  return {
    id: row.id,
    merchantId: row.merchant_id,
    status: row.status,
    version: row.version,
    amount: BigInt(row.amount),
    currency: row.currency,
    expiresAt: row.expires_at,
    autoClose: row.auto_close,
    graceMs: row.grace_ms,
    reminderOffsetsMs: row.reminder_offsets_ms.map(Number),
    closingReason: row.closing_reason,
    createdAt: row.created_at,
    closedAt: row.closed_at,
    paidAt: row.paid_at,
    ...(row.erased_at === null ? {} : { isErased: true }),
  };
}

export function toAttempt(row: AttemptRow): PaymentAttempt {
  return {
    orderId: row.order_id,
    provider: row.provider,
    reference: row.reference,
    merchantAccount: row.merchant_account === '' ? null : row.merchant_account,
    resolvedAccount: row.resolved_account,
    status: row.status,
    amount: BigInt(row.amount),
    currency: row.currency,
    timeExpire: toDate(row.time_expire),
    createdAt: new Date(row.created_at),
    paidAmount: row.paid_amount === null ? null : BigInt(row.paid_amount),
    refundedAmount: BigInt(row.refunded_amount),
    paidCurrency: row.paid_currency,
    paidAt: toDate(row.paid_at),
    transactionId: row.transaction_id,
    registered: row.registered,
    paidSource: row.paid_source,
  };
}

/** The attempts of each order, in the given order; an empty list for an order without any. */
export function attemptsByOrder(
  orderIds: readonly string[],
  attempts: readonly PaymentAttempt[],
): ReadonlyMap<string, readonly PaymentAttempt[]> {
  const ofOrder = new Map<string, PaymentAttempt[]>(orderIds.map((id) => [id, []]));
  for (const attempt of attempts) ofOrder.get(attempt.orderId)?.push(attempt);
  return ofOrder;
}

function toDate(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
