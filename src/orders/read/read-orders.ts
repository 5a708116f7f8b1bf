import { Injectable, Inject } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, onOwnConnection, STATEMENT_MS, statements } from '../../database';
import { TimeoutScheduler, type TimeoutRef } from '../../timeouts';
import {
  allTimeouts,
  paymentTimeout,
  reconcileTimeout,
  PAYMENT_REFUND,
  ORDER_LATE_WATCH,
} from '../model/order-timeouts';
import { closesAt, type OrderView, type OrderStatus, type PaymentAttempt, type PaidSource } from '../model/order';
import { readViews, type ReadOrderRow } from '../sql/order-rows';
import { evidenceSql } from '../sql/personal-data';
import { type TransitionCause } from '../model/transition';
import { CLOCK, type Clock } from '../../clock';
import { checkPage } from '../input/check-input';
import { findOrders, BY_INDEX } from '../sql/find-orders';
import { type ScopedFilter, encodePosition, type OrderPosition } from '../model/order-filter';
import { type UnmatchedPayment } from '../unmatched/unmatched-payment';
import { type Refund } from '../model/unmatched-money';

/**
 * Reads an order. Expiry is computed from the database's clock, so the answer is right even if the closing is behind.
 * An overdue order that has not been handled is handled now, in the background.
 */
@Injectable()
export class ReadOrder {
  constructor(
    private readonly database: Database,
    private readonly scheduler: TimeoutScheduler,
  ) {}

  /** Uses one statement. Undefined: there is no such order. */
  async execute(orderId: string): Promise<OrderView | undefined> {
    const views = await onOwnConnection(this.database.dataSource, STATEMENT_MS, ({ manager }) =>
      readViews(manager, this.database, [orderId]),
    );
    const found = views.get(orderId);
    if (found && isOverdue(found)) this.scheduler.wake([paymentTimeout(orderId)], 'passive');
    return found?.view;
  }

  /** Empty: there is no such order, because every order has an entry of its creation. */
  history(orderId: string): Promise<HistoryEntry[]> {
    return this.database.query(historySql(this.database), [orderId]);
  }
}

const historySql = statements(
  (schema) => `
      SELECT version, from_status AS "from", to_status AS "to", cause, actor, reason, evidence, traceparent,
             occurred_at AS "occurredAt"
        FROM ${schema}.order_history WHERE order_id = $1 ORDER BY version`,
);

/** One entry of an order's history. `from` is null for the first entry. */
export interface HistoryEntry {
  readonly version: number;
  readonly from: OrderStatus | null;
  readonly to: OrderStatus;
  readonly cause: TransitionCause;
  readonly actor: string | null;
  readonly reason: string | null;
  readonly evidence: Readonly<Record<string, unknown>> | null;
  readonly traceparent: string | null;
  readonly occurredAt: Date;
}

export function isOverdue({ order, now }: ReadOrderRow): boolean {
  return order.status === 'PENDING' && order.autoClose && now >= closesAt(order);
}

/** Which orders to list, and where to begin. */
export interface OrderPage extends ScopedFilter {
  /** 1 to 200. @default 50 */
  readonly limit?: number | undefined;
  /** `next` of the previous page. */
  readonly cursor?: string | undefined;
}

/** One page of orders, newest first. */
export interface OrderList {
  /** May be fewer than asked for, and even none, although there are more pages. */
  readonly orders: readonly OrderView[];
  /** The `cursor` of the next page. Null: this is the last one. */
  readonly next: string | null;
}

const DEFAULT_LIMIT = 50;

/** A rare filter reads millions of orders in vain. After this time, the caller gets what was found, and goes on. */
const BUDGET_MS = 1_000;

interface FoundPage {
  readonly positions: readonly OrderPosition[];
  /** Undefined: there are no more. */
  readonly next: OrderPosition | undefined;
}

interface Search {
  readonly after: OrderPosition | undefined;
  readonly limit: number;
  readonly budgetMs: number;
}

/** Lists orders by a filter, newest first. Pages are stable: orders that are placed meanwhile do not shift them. */
@Injectable()
export class ListOrders {
  constructor(
    private readonly database: Database,
    private readonly scheduler: TimeoutScheduler,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @param budgetMs how long to search for more. @throws InvalidOrderError if the page is malformed. */
  async execute(page: OrderPage = {}, budgetMs = BUDGET_MS): Promise<OrderList> {
    const after = checkPage(page);
    const { limit = DEFAULT_LIMIT } = page;
    return this.database.transaction(async (tx) => {
      const { positions, next } = await this.findWith(tx, page, { after, limit, budgetMs });
      return { orders: await this.read(tx, positions), next: next ? encodePosition(next) : null };
    });
  }

  find(filter: ScopedFilter, after: OrderPosition | undefined, limit: number): Promise<FoundPage> {
    return this.database.transaction((tx) => this.findWith(tx, filter, { after, limit, budgetMs: BUDGET_MS }));
  }

  /** One more than wanted is sought, which tells whether there is a next page. */
  private async findWith(
    tx: EntityManager,
    filter: ScopedFilter,
    { after, limit, budgetMs }: Search,
  ): Promise<FoundPage> {
    const { clock } = this;
    await tx.query(BY_INDEX);
    const endsAt = clock.monotonic() + budgetMs;
    let positions: readonly OrderPosition[] = [];
    for (let from = after; ;) {
      const step = await findOrders(tx, this.database, filter, from, limit + 1 - positions.length);
      positions = positions.concat(step.found);
      if (positions.length > limit) return { positions: positions.slice(0, limit), next: positions[limit - 1] };
      if (!step.scannedTo || clock.monotonic() >= endsAt) return { positions, next: step.scannedTo };
      from = step.scannedTo;
    }
  }

  private async read(tx: EntityManager, positions: readonly OrderPosition[]): Promise<OrderView[]> {
    const ids = positions.map(({ id }) => id);
    const found = await readViews(tx, this.database, ids);
    const rows = ids.flatMap((id) => found.get(id) ?? []);
    const overdue = rows.filter(isOverdue).map(({ order }) => paymentTimeout(order.id));
    if (overdue.length > 0) this.scheduler.wake(overdue, 'passive');
    return rows.map(({ view }) => view);
  }
}

/** Numbers about the newest orders. */
export interface OrderSummary {
  readonly pending: number;
  readonly closing: number;
  /** Of the orders placed in the last 24 hours, those that are PAID. */
  readonly paid24h: number;
  /** Of the orders placed in the last 24 hours, those that are CLOSED. */
  readonly closed24h: number;
  /** There are older orders that were not counted, so each number may be too small. */
  readonly isPartial: boolean;
  /** PENDING orders by the minute of their deadline, from now on. */
  readonly dueByMinute: ReadonlyMap<number, number>;
  /** PENDING and CLOSING orders whose deadline has passed. */
  readonly overdue: number;
}

interface Row extends Omit<OrderSummary, 'isPartial' | 'dueByMinute'> {
  readonly scanned: number;
  readonly minutes: Readonly<Record<string, number>> | null;
}

/** Orders that are counted at most. They take about 50 ms. */
const SCAN = 50_000;
const MINUTES = 60;

/**
 * Counts the newest orders by status. An index with the status would make each transition of an order more expensive, so the
 * orders are read in the order of their creation, up to a limit.
 */
@Injectable()
export class SummarizeOrders {
  constructor(private readonly database: Database) {}

  /** @param merchants only their orders. Undefined: all. */
  async execute(merchants: readonly string[] | undefined): Promise<OrderSummary> {
    const values = merchants === undefined ? [] : [merchants];
    const rows = await this.database.transaction(async (tx) => {
      await tx.query(BY_INDEX);
      return tx.query<Row[]>(this.sql(merchants?.length), values);
    });
    const [row] = rows;
    if (!row) throw new Error('an aggregate without a row');
    const { scanned, minutes, ...counts } = row;
    const dueByMinute = new Map(Object.entries(minutes ?? {}).map(([minute, count]) => [Number(minute), count]));
    return { ...counts, dueByMinute, isPartial: scanned >= SCAN };
  }

  /** @internal For tests: the statement. @param merchants how many there are. */
  sql(merchants: number | undefined): string {
    const isOpen = `status = 'PENDING' AND auto_close`;
    const isRecent = `created_at >= now() - interval '24 hours'`;
    return `
      WITH newest AS MATERIALIZED (${this.newest(merchants)})
      SELECT count(*)::int AS scanned,
             (count(*) FILTER (WHERE status = 'PENDING'))::int AS pending,
             (count(*) FILTER (WHERE status = 'CLOSING'))::int AS closing,
             (count(*) FILTER (WHERE status = 'PAID' AND ${isRecent}))::int AS "paid24h",
             (count(*) FILTER (WHERE status = 'CLOSED' AND ${isRecent}))::int AS "closed24h",
             (count(*) FILTER (WHERE (${isOpen} OR status = 'CLOSING') AND expires_at <= now()))::int AS overdue,
             (SELECT json_object_agg(minute, orders) FROM (
                SELECT floor(extract(epoch FROM expires_at - now()) / 60)::int AS minute, count(*) AS orders
                  FROM newest
                 WHERE ${isOpen} AND expires_at > now() AND expires_at < now() + interval '${MINUTES} minutes'
                 GROUP BY 1) AS due) AS minutes
        FROM newest`;
  }

  private newest(merchants: number | undefined): string {
    const orders = `SELECT o.status, o.created_at, o.expires_at, o.auto_close FROM ${this.database.schema}.orders o`;
    const newestFirst = 'ORDER BY o.created_at DESC, o.id DESC LIMIT';
    if (merchants === undefined) return `${orders} ${newestFirst} ${SCAN}`;
    // One index scan for each merchant.
    const share = Math.ceil(SCAN / Math.max(1, merchants));
    return `SELECT one.* FROM unnest($1::text[]) AS m(id), LATERAL (
              ${orders} WHERE o.merchant_id = m.id ${newestFirst} ${share}) one`;
  }
}

export interface DossierAttempt extends Pick<
  PaymentAttempt,
  'provider' | 'reference' | 'merchantAccount' | 'status' | 'currency' | 'createdAt' | 'paidCurrency' | 'paidAt'
> {
  readonly amount: number;
  /** What was paid, which may differ from the amount of the attempt. Null: nothing. */
  readonly paidAmount: number | null;
  readonly paidSource: PaidSource | null;
  readonly transactionId: string | null;
  readonly updatedAt: Date;
}

/** A refund of an order's payment. The amount is in minor units. */
export interface DossierRefund extends Pick<
  Refund,
  'number' | 'orderId' | 'provider' | 'reference' | 'currency' | 'reason'
> {
  readonly amount: number;
  readonly status: 'PENDING' | 'REFUNDED';
  /** The operator who asked for it. Null: a policy did. */
  readonly requestedBy: string | null;
  readonly createdAt: Date;
  readonly refundedAt: Date | null;
}

/** What is known about one order besides its view and its history, without personal data. */
export interface OrderDossier {
  readonly status: OrderStatus;
  readonly attempts: readonly DossierAttempt[];
  readonly refunds: readonly DossierRefund[];
  readonly unmatched: readonly Omit<UnmatchedPayment, 'evidence'>[];
  readonly timeouts: readonly TimeoutRef[];
  /** Whether there is evidence of providers, or of reports. */
  readonly hasEvidence: boolean;
}

interface DossierRow extends Omit<OrderDossier, 'timeouts'> {
  readonly id: string;
  readonly offsets: readonly string[];
}

const REFUND = `r.number, r.order_id AS "orderId", r.provider, r.reference, r.amount, r.currency, r.reason, r.status,
  r.requested_by AS "requestedBy", r.created_at AS "createdAt", r.refunded_at AS "refundedAt"`;

/** Reads what operators see of an order, and of refunds. */
@Injectable()
export class ReadDossier {
  constructor(private readonly database: Database) {}

  async execute(orderId: string): Promise<OrderDossier | undefined> {
    const [row] = await this.database.query<DossierRow[]>(dossierSql(this.database).order, [orderId]);
    if (!row) return undefined;
    const { id, offsets, attempts, refunds, unmatched, ...rest } = row;
    return {
      ...rest,
      attempts: attempts.map(dated),
      refunds: refunds.map(dated),
      unmatched: unmatched.map(dated),
      timeouts: timeoutsOf(id, offsets.map(Number), refunds),
    };
  }

  async refunds(numbers: readonly string[]): Promise<DossierRefund[]> {
    const rows = await this.database.query<DossierRefund[]>(dossierSql(this.database).refunds, [numbers]);
    return rows.map((row) => ({ ...row, amount: Number(row.amount) }));
  }
}

const dossierSql = statements((schema) => {
  const listed = (what: string, from: string): string =>
    `(SELECT COALESCE(json_agg(found), '[]') FROM (SELECT ${what} FROM ${from}) found)`;
  return {
    order: `
      SELECT o.id, o.status, o.reminder_offsets_ms AS offsets,
             EXISTS (${evidenceSql(schema, 'o.id')}) AS "hasEvidence",
             ${listed(
               `a.provider, a.reference, NULLIF(COALESCE(a.resolved_account, a.merchant_account), '') AS "merchantAccount", a.status, a.amount, a.currency,
                a.paid_amount AS "paidAmount", a.paid_currency AS "paidCurrency",
                a.created_at AS "createdAt", a.updated_at AS "updatedAt", a.paid_at AS "paidAt",
                a.paid_source AS "paidSource", a.transaction_id AS "transactionId"`,
               `${schema}.payment_attempt a WHERE a.order_id = o.id`,
             )} AS attempts,
             ${listed(REFUND, `${schema}.refund r WHERE r.order_id = o.id`)} AS refunds,
             ${listed(
               `p.id, p.reason, p.handling, p.order_id AS "orderId", p.provider, p.reference,
                NULLIF(p.merchant_account, '') AS "merchantAccount", p.amount, p.currency, p.source,
                p.created_at AS "createdAt", p.resolved_at AS "resolvedAt", p.resolved_by AS "resolvedBy", p.resolution`,
               `${schema}.unmatched_payment p WHERE p.order_id = o.id`,
             )} AS unmatched
        FROM ${schema}.orders o WHERE o.id = $1`,
    refunds: `SELECT ${REFUND} FROM ${schema}.refund r WHERE r.number = ANY($1::text[])`,
  };
});

function timeoutsOf(id: string, reminderOffsetsMs: readonly number[], refunds: readonly DossierRefund[]): TimeoutRef[] {
  return [
    ...allTimeouts({ id, reminderOffsetsMs }),
    { kind: ORDER_LATE_WATCH, key: id },
    reconcileTimeout(id),
    ...refunds.map(({ number }) => ({ kind: PAYMENT_REFUND, key: number })),
  ];
}

/** JSON carries instants as text. */
function dated<T extends object>(row: T): T {
  const entries = Object.entries(row as Record<string, unknown>);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name.endsWith('At') && typeof value === 'string' ? new Date(value) : value]),
  ) as T;
}
