import { type EntityManager, type DataSource } from 'typeorm';
import DataLoader from 'dataloader';
import { present, validInstant } from '../../errors';
import { ownQuery, storableJson } from '../../database';
import { type JsonObject } from '../../outbox';
import {
  type ClosingReason,
  type Order,
  type OrderStatus,
  type AttemptStatus,
  type PaidSource,
  type PaymentAttempt,
  type AttemptView,
  hasExpired,
  isPayable,
  type OrderLineView,
  type OrderView,
  accountOfAttempt,
} from '../model/order';
import { type ActionContext } from '../model/transition';

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

interface ViewRow extends OrderRow {
  readonly now: Date;
  readonly metadata: Record<string, unknown> | null;
  readonly lines: OrderLineView[] | null;
  readonly attempts: AttemptRow[] | null;
}

/** An order as shown to callers, and as stored. */
export interface ReadOrderRow {
  readonly view: OrderView;
  readonly order: Order;
  readonly now: Date;
}

/** Reads orders with lines and attempts in one statement. */
export class ReadViews {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `
      SELECT ${ORDER_COLUMNS}, o.metadata, clock_timestamp() AS now,
             (SELECT json_agg(json_build_object('sku', l.sku, 'quantity', l.quantity, 'unitAmount', l.unit_amount)
                              ORDER BY l.line_no)
                FROM ${schema}.order_line l WHERE l.order_id = o.id) AS lines,
             (SELECT json_agg(found) FROM (
                SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = o.id
                 ORDER BY a.created_at, a.provider, a.reference) found) AS attempts
        FROM ${schema}.orders o WHERE o.id = ANY($1::text[])`;
  }

  async execute(tx: EntityManager, ids: readonly string[]): Promise<Map<string, ReadOrderRow>> {
    if (ids.length === 0) return new Map();
    const rows = await tx.query<ViewRow[]>(this.sql, [ids]);
    return new Map(
      rows.map((row) => {
        const order = toOrder(row);
        const attempts = (row.attempts ?? []).map(toAttempt);
        return [row.id, { order, now: row.now, view: toView(order, row.lines ?? [], attempts, row.metadata, row.now) }];
      }),
    );
  }
}

/** Pure: returns the public view of an order at `now`. */
export function toView(
  order: Order,
  lines: readonly OrderLineView[],
  attempts: readonly PaymentAttempt[],
  metadata: Readonly<Record<string, unknown>> | null,
  now: Date,
): OrderView {
  const { id, merchantId, status, version, currency, expiresAt, autoClose, createdAt, paidAt, closedAt } = order;
  return {
    id,
    merchantId,
    status,
    version,
    amount: Number(order.amount),
    currency,
    expiresAt,
    expired: hasExpired(order, now),
    payable: isPayable(order, now),
    autoClose,
    lines,
    attempts: attempts.map(toAttemptView),
    ...(metadata ? { metadata } : {}),
    createdAt,
    ...(paidAt ? { paidAt } : {}),
    ...(closedAt ? { closedAt } : {}),
  };
}

function toAttemptView(attempt: PaymentAttempt): AttemptView {
  const { provider, reference, status, currency, timeExpire, createdAt } = attempt;
  const { paidAmount, paidAt, transactionId } = attempt;
  const merchantAccount = accountOfAttempt(attempt);
  return {
    provider,
    reference,
    status,
    amount: Number(attempt.amount),
    currency,
    ...(merchantAccount === null ? {} : { merchantAccount }),
    ...(timeExpire === null ? {} : { timeExpire }),
    createdAt,
    ...(paidAmount === null ? {} : { paidAmount: Number(paidAmount) }),
    ...(paidAt === null ? {} : { paidAt }),
    ...(transactionId === null ? {} : { transactionId }),
  };
}

/** Attempts, and the database's time when they were read. */
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
export class ReadAttempts {
  private readonly sql: string;
  /** Without a cache, because the result must be current. */
  private readonly loader = new DataLoader((ids: readonly string[]) => this.read(ids), {
    cache: false,
    maxBatchSize: BATCH,
  });

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    // ORDER BY: two attempts that one payment answers for must end the same way wherever their rows lie.
    this.sql = `
      SELECT clock_timestamp() AS now, (
        SELECT json_agg(found) FROM (
          SELECT ${ATTEMPT_COLUMNS} FROM ${schema}.payment_attempt a WHERE a.order_id = ANY($1::text[])
           ORDER BY a.created_at, a.provider, a.reference) found) AS attempts`;
  }

  async execute(orderId: string, isWanted: (attempt: PaymentAttempt) => boolean): Promise<AttemptsNow> {
    const { now, attempts } = await this.loader.load(orderId);
    return { now, attempts: attempts.filter(isWanted) };
  }

  private async read(orderIds: readonly string[]): Promise<AttemptsNow[]> {
    const [row] = await ownQuery<NowRow[]>(this.dataSource, this.sql, [orderIds]);
    const { now, attempts } = present(row, 'the attempts of orders');
    const ofOrder = attemptsByOrder(orderIds, (attempts ?? []).map(toAttempt));
    return orderIds.map((id) => ({ now: validInstant(now), attempts: ofOrder.get(id) ?? [] }));
  }
}

/** The fields of an order that may change without a change of its status. */
interface Amendment {
  readonly expiresAt?: Date;
  readonly autoClose?: boolean;
  readonly graceMs?: number;
  readonly closingReason?: ClosingReason;
}

/** Changes a locked order without changing its status. The history gets a row nevertheless. */
export class AmendOrder {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `
      WITH amended AS (
        UPDATE ${schema}.orders
           SET expires_at = COALESCE($3, expires_at), auto_close = COALESCE($4, auto_close),
               grace_ms = COALESCE($5, grace_ms), closing_reason = COALESCE($11, closing_reason), version = version + 1, updated_at = now()
         WHERE id = $1 AND version = $2 RETURNING *),
      history AS (
        INSERT INTO ${schema}.order_history
               (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
        SELECT id, version, status, status, $6, $7, $8, $9::jsonb, $10 FROM amended)
      SELECT ${ORDER_COLUMNS} FROM amended o`;
  }

  async execute(
    tx: EntityManager,
    order: Order,
    amendment: Amendment,
    why: { readonly by: ActionContext; readonly reason: string; readonly evidence: JsonObject },
  ): Promise<Order> {
    const { by, reason, evidence } = why;
    const [row] = await tx.query<OrderRow[]>(this.sql, [
      order.id,
      order.version,
      amendment.expiresAt?.toISOString() ?? null,
      amendment.autoClose ?? null,
      amendment.graceMs ?? null,
      by.cause,
      by.actor ?? null,
      reason,
      storableJson(evidence),
      by.traceparent ?? null,
      amendment.closingReason ?? null,
    ]);
    if (!row) throw new Error(`order ${order.id} changed under its lock`);
    return toOrder(row);
  }
}

/** Finds the bulk actions that an order has gone through. Their ids are in its history, which is written in their transaction. */
export class NotedActions {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `SELECT 1 FROM ${schema}.order_history WHERE order_id = $1 AND evidence->>'actionId' = $2 LIMIT 1`;
  }

  /** Call it under the lock of the order. */
  async has(tx: EntityManager, orderId: string, actionId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(this.sql, [orderId, actionId])).length > 0;
  }
}

/** Finds the merchant of an order. The merchant never changes, so the answer stays valid. */
export class OrderMerchants {
  private readonly sql: string;
  private readonly othersSql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    this.sql = `SELECT merchant_id FROM ${schema}.orders WHERE id = $1`;
    this.othersSql = `SELECT 1 FROM ${schema}.orders WHERE id = ANY($1::text[]) AND merchant_id <> $2 LIMIT 1`;
  }

  /** The merchant id of the order. Undefined: there is no such order. */
  async of(orderId: string): Promise<string | undefined> {
    const [row] = await ownQuery<{ merchant_id: string }[]>(this.dataSource, this.sql, [orderId]);
    return row?.merchant_id;
  }

  /** Whether any of these orders belongs to another merchant. */
  async hasOther(tx: EntityManager, orderIds: readonly string[], merchantId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(this.othersSql, [orderIds, merchantId])).length > 0;
  }
}
