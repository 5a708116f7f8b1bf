import { Inject, Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { CLOCK, type Clock } from '../../clock';
import { Database } from '../../database';
import { TimeoutScheduler } from '../../timeouts';
import { checkPage } from '../input/check-input';
import { paymentTimeout } from '../model/order-timeouts';
import { type OrderView } from '../model/order';
import { findOrders, BY_INDEX } from '../sql/find-orders';
import { readViews } from '../sql/order-rows';
import { isOverdue } from './read-order';
import { type ScopedFilter, encodePosition, type OrderPosition } from '../model/order-filter';

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

/** Positions of orders, and where the search ended. */
interface FoundPage {
  readonly positions: readonly OrderPosition[];
  /** Undefined: there are no more. */
  readonly next: OrderPosition | undefined;
}

/** Where to search, for how many, and for how long. */
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

  /**
   * @param budgetMs how long to search for more.
   * @throws InvalidOrderError if the page is malformed.
   */
  async execute(page: OrderPage = {}, budgetMs = BUDGET_MS): Promise<OrderList> {
    const after = checkPage(page);
    const { limit = DEFAULT_LIMIT } = page;
    return this.database.transaction(async (tx) => {
      const { positions, next } = await this.findWith(tx, page, { after, limit, budgetMs });
      return { orders: await this.read(tx, positions), next: next ? encodePosition(next) : null };
    });
  }

  /** The positions alone, for bulk actions. */
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
