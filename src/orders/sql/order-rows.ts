import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import DataLoader from 'dataloader';
import { present, validInstant } from '../../errors';
import { Database, statements } from '../../database';
import {
  type ClosingReason,
  type Order,
  type PaidSource,
  type PaymentAttempt,
  type OrderLineView,
  type OrderView,
  type AttemptKey,
  toView,
} from '../model/order';

/** Columns of an order. The table's alias must be `o`. */
export const ORDER_COLUMNS = `o.id, o.merchant_id, o.status, o.version, o.amount, o.currency, o.expires_at, o.auto_close,
  o.grace_ms, o.reminder_offsets_ms, o.closing_reason, o.created_at, o.closed_at, o.paid_at,
  o.erased_at`;

/** Columns of an attempt with the alias `a`, for json_agg. Money is text: JSON numbers cannot hold a bigint. */
export const ATTEMPT_COLUMNS = `a.order_id, a.provider, a.reference, a.merchant_account, a.resolved_account, a.status, a.amount::text AS amount,
  a.currency, a.time_expire, a.created_at, a.registered, a.assigned, a.paid_amount::text AS paid_amount, a.paid_currency, a.paid_at,
  a.refunded_amount::text AS refunded_amount, a.transaction_id, a.paid_source`;

export interface OrderRow extends Pick<Order, 'id' | 'status' | 'version' | 'currency'> {
  readonly merchant_id: string;
  readonly amount: string;
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

export interface AttemptRow extends Pick<
  PaymentAttempt,
  'provider' | 'reference' | 'status' | 'currency' | 'registered' | 'assigned'
> {
  readonly order_id: string;
  /** Empty: none. */
  readonly merchant_account: string;
  readonly resolved_account: string | null;
  readonly amount: string;
  readonly time_expire: string | null;
  readonly created_at: string;
  readonly paid_amount: string | null;
  readonly refunded_amount: string;
  readonly paid_currency: string | null;
  readonly paid_at: string | null;
  readonly transaction_id: string | null;
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
    assigned: row.assigned,
    paidSource: row.paid_source,
  };
}

/** The attempts of each order that has any, in the given order. */
export function attemptsByOrder(attempts: readonly PaymentAttempt[]): ReadonlyMap<string, readonly PaymentAttempt[]> {
  const ofOrder = new Map<string, PaymentAttempt[]>();
  for (const attempt of attempts) {
    const known = ofOrder.get(attempt.orderId);
    if (known) known.push(attempt);
    else ofOrder.set(attempt.orderId, [attempt]);
  }
  return ofOrder;
}

/** The parameters for `unnest` of the keys of attempts. */
export function attemptKeys(keys: readonly AttemptKey[]): string[][] {
  return [
    keys.map(({ provider }) => provider),
    keys.map(({ reference }) => reference),
    keys.map(({ merchantAccount }) => merchantAccount ?? ''),
  ];
}

function toDate(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

interface ViewRow extends OrderRow {
  readonly now: Date;
  readonly metadata: Record<string, unknown> | null;
  readonly lines: OrderLineView[] | null;
  readonly attempts: AttemptRow[] | null;
}

export interface ReadOrderRow {
  readonly view: OrderView;
  readonly order: Order;
  readonly now: Date;
}

export async function readViews(
  tx: EntityManager,
  database: Database,
  ids: readonly string[],
): Promise<Map<string, ReadOrderRow>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<ViewRow[]>(viewsSql(database), [ids]);
  return new Map(
    rows.map((row) => {
      const order = toOrder(row);
      const attempts = (row.attempts ?? []).map(toAttempt);
      return [row.id, { order, now: row.now, view: toView(order, row.lines ?? [], attempts, row.metadata, row.now) }];
    }),
  );
}

const viewsSql = statements(
  (schema) => `
      SELECT ${ORDER_COLUMNS}, o.metadata, clock_timestamp() AS now,
             (SELECT json_agg(json_build_object('sku', l.sku, 'quantity', l.quantity, 'unitAmount', l.unit_amount)
                              ORDER BY l.line_no)
                FROM ${schema}.order_line l WHERE l.order_id = o.id) AS lines,
             (SELECT json_agg(found) FROM (
                SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = o.id
                 ORDER BY a.created_at, a.provider, a.reference) found) AS attempts
        FROM ${schema}.orders o WHERE o.id = ANY($1::text[])`,
);

export interface AttemptsNow {
  readonly now: Date;
  readonly attempts: readonly PaymentAttempt[];
}

/** A statement for this many orders takes a few milliseconds. */
const BATCH = 500;

interface NowRow {
  readonly now: Date;
  readonly attempts: AttemptRow[] | null;
}

/**
 * Reads attempts outside any transaction. Requests of the same turn share a statement: a batch of deadlines starts its
 * look-ups at the same time, and separate statements were a fifth of their cost.
 */
@Injectable()
export class ReadAttempts {
  /** Without a cache, because the result must be current. */
  private readonly loader = new DataLoader((ids: readonly string[]) => this.read(ids), {
    cache: false,
    maxBatchSize: BATCH,
  });

  constructor(private readonly database: Database) {}

  async execute(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow> {
    const { now, attempts } = await this.loader.load(orderId);
    return { now, attempts: attempts.filter(isWanted) };
  }

  private async read(orderIds: readonly string[]): Promise<AttemptsNow[]> {
    const [row] = await this.database.query<NowRow[]>(attemptsSql(this.database), [orderIds]);
    const { now, attempts } = present(row, 'the attempts of orders');
    const ofOrder = attemptsByOrder((attempts ?? []).map(toAttempt));
    return orderIds.map((id) => ({ now: validInstant(now), attempts: ofOrder.get(id) ?? [] }));
  }
}

// ORDER BY: two attempts that one payment answers for must end the same way wherever their rows lie.
const attemptsSql = statements(
  (schema) => `
      SELECT clock_timestamp() AS now, (
        SELECT json_agg(found) FROM (
          SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = ANY($1::text[])
           ORDER BY a.created_at, a.provider, a.reference) found) AS attempts`,
);

/** Whether the history of an order has this bulk action. Call it under the lock of the order. */
export async function isActionNoted(
  tx: EntityManager,
  database: Database,
  orderId: string,
  actionId: string,
): Promise<boolean> {
  return (await tx.query<unknown[]>(notedSql(database), [orderId, actionId])).length > 0;
}

const notedSql = statements(
  (schema) => `SELECT 1 FROM ${schema}.order_history WHERE order_id = $1 AND evidence->>'actionId' = $2 LIMIT 1`,
);

/** Finds the merchant of an order. The merchant never changes, so the answer stays valid. */
@Injectable()
export class OrderMerchants {
  constructor(private readonly database: Database) {}

  /** The merchant id of the order. Undefined: there is no such order. */
  async of(orderId: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ merchant_id: string }[]>(merchantsSql(this.database).of, [orderId]);
    return row?.merchant_id;
  }

  async hasOther(tx: EntityManager, orderIds: readonly string[], merchantId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(merchantsSql(this.database).others, [orderIds, merchantId])).length > 0;
  }
}

const merchantsSql = statements((schema) => ({
  of: `SELECT merchant_id FROM ${schema}.orders WHERE id = $1`,
  others: `SELECT 1 FROM ${schema}.orders WHERE id = ANY($1::text[]) AND merchant_id <> $2 LIMIT 1`,
}));
