import { ORDER_LATE_WATCH } from 'nestjs-order-timeout/orders';
import { DataSource } from 'typeorm';
import {
  type HistoryFact,
  type OrderRecord,
  type UnmatchedFact,
  type ReservationFact,
  type StockLevel,
  type StoredOrder,
} from './facts';
import { type ClaimFact, type MoneyFacts, type OpenRowFact } from './money-checks';

const SCHEMA = 'order_timeout';

/** How far a run is. */
export interface Progress {
  readonly byStatus: Readonly<Record<string, number>>;
  readonly outboxRows: number;
  /** But for the watch over orders that have ended, which goes on for a day. */
  readonly pendingTimeouts: number;
}

/** SQL: an instant as epoch milliseconds. */
export const epochMs = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** SQL: who counts on which money, by rows like those of payment_attempt and orders; as ClaimFact. */
export const claimsSql = (attempts: string, orders: string): string => `
  SELECT a.order_id AS "orderId", o.amount::text AS "orderAmount", a.provider, a.reference,
         (a.paid_amount - a.refunded_amount)::text AS amount, coalesce(a.transaction_id, '') AS "transactionId",
         coalesce(a.resolved_account, a.merchant_account) AS "merchantAccount"
    FROM ${attempts} a JOIN ${orders} o ON o.id = a.order_id
   WHERE a.status = 'PAID' AND o.status = 'PAID'`;

/** Reads the service's tables, past all of its code. */
export class Records {
  private constructor(private readonly dataSource: Pick<DataSource, 'query' | 'destroy'>) {}

  /** On a connection of somebody else. */
  static on(query: <T>(sql: string) => Promise<T>): Records {
    return new Records({ query, destroy: () => Promise.resolve() });
  }

  static async open(url: string): Promise<Records> {
    return new Records(await new DataSource({ type: 'postgres', url, poolSize: 2 }).initialize());
  }

  close(): Promise<void> {
    return this.dataSource.destroy();
  }

  execute(sql: string): Promise<unknown> {
    return this.dataSource.query(sql);
  }

  /** The database's clock minus ours, milliseconds: the best of five looks. */
  async aheadMs(): Promise<number> {
    let best = { aheadMs: 0, took: Infinity };
    for (let look = 0; look < 5; look++) {
      const before = Date.now();
      const [row] = await this.dataSource.query<{ now: number }[]>(`SELECT ${epochMs('clock_timestamp()')} AS now`);
      const took = Date.now() - before;
      if (row && took < best.took) best = { aheadMs: row.now - before - took / 2, took };
    }
    return best.aheadMs;
  }

  async progress(): Promise<Progress> {
    const rows = await this.dataSource.query<{ status: string; count: number }[]>(
      `SELECT status, count(*)::int AS count FROM ${SCHEMA}.orders GROUP BY status`,
    );
    const [left] = await this.dataSource.query<{ outbox: number; timeouts: number }[]>(
      `SELECT (SELECT count(*)::int FROM ${SCHEMA}.outbox) AS outbox,
              (SELECT count(*)::int FROM ${SCHEMA}.timeout 
                WHERE state = 'pending' AND kind <> '${ORDER_LATE_WATCH}') AS timeouts`,
    );
    return {
      byStatus: Object.fromEntries(rows.map(({ status, count }) => [status, count])),
      outboxRows: left?.outbox ?? 0,
      pendingTimeouts: left?.timeouts ?? 0,
    };
  }

  orders(): Promise<StoredOrder[]> {
    return this.dataSource.query(
      `SELECT id, status, version, grace_ms AS "graceMs", ${epochMs('created_at')} AS "createdAt",
              ${epochMs('expires_at')} AS "expiresAt" FROM ${SCHEMA}.orders`,
    );
  }

  /** Every order with what hangs on it, by id. */
  async orderRecords(): Promise<Map<string, OrderRecord>> {
    const history = groupByOrder<HistoryFact>(
      await this.dataSource.query(
        `SELECT order_id AS "orderId", version, from_status AS "from", to_status AS "to", cause,
                ${epochMs('occurred_at')} AS "occurredAt"
           FROM ${SCHEMA}.order_history ORDER BY order_id, version`,
      ),
    );
    const reservations = groupByOrder<ReservationFact>(
      await this.dataSource.query(
        `SELECT order_id AS "orderId", sku, qty AS quantity, state FROM ${SCHEMA}.reservation`,
      ),
    );
    const records = (await this.orders()).map((order) => ({
      ...order,
      history: history.get(order.id) ?? [],
      reservations: reservations.get(order.id) ?? [],
    }));
    return new Map(records.map((record) => [record.id, record]));
  }

  stock(): Promise<StockLevel[]> {
    return this.dataSource.query(`SELECT sku, on_hand AS "onHand", reserved FROM ${SCHEMA}.inventory ORDER BY sku`);
  }

  baskets(): Promise<string[]> {
    return this.texts('SELECT order_id AS text FROM basket');
  }

  parkedTimeouts(): Promise<string[]> {
    return this.texts(
      `SELECT kind || ' ' || key || ': ' || coalesce(last_error, '') AS text
         FROM ${SCHEMA}.timeout WHERE state = 'parked'`,
    );
  }

  unmatchedPayments(): Promise<UnmatchedFact[]> {
    return this.dataSource.query(
      `SELECT coalesce(order_id, '') AS "orderId", reason,
              reference || ' ' || amount || ' ' || currency || ': ' || reason AS says
         FROM ${SCHEMA}.unmatched_payment`,
    );
  }

  /** Who counts on which money, and what waits for a person. */
  async money(): Promise<Omit<MoneyFacts, 'ledger'>> {
    const claims: ClaimFact[] = await this.dataSource.query(claimsSql(`${SCHEMA}.payment_attempt`, `${SCHEMA}.orders`));
    const openRows: OpenRowFact[] = await this.dataSource.query(
      `SELECT provider, reference, merchant_account AS "merchantAccount", reason,
              coalesce(evidence->>'transactionId', '') AS "transactionId"
         FROM ${SCHEMA}.unmatched_payment WHERE handling IN ('kept', 'waiting')`,
    );
    return { claims, openRows };
  }

  private async texts(sql: string): Promise<string[]> {
    return (await this.dataSource.query<{ text: string }[]>(sql)).map(({ text }) => text);
  }
}

export function groupByOrder<T>(rows: readonly (T & { readonly orderId: string })[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(row.orderId);
    if (group) group.push(row);
    else groups.set(row.orderId, [row]);
  }
  return groups;
}
