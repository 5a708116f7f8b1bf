import { type Database } from '../stage/database';

/** One step of an order's history; epoch milliseconds by the database's clock. */
export interface HistoryStep {
  readonly version: number;
  readonly from: string | null;
  readonly to: string;
  readonly cause: string;
  readonly at: number;
}

/** What the database says of one order in the end. */
export interface OrderRecord {
  readonly id: string;
  readonly status: string;
  readonly version: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly history: readonly HistoryStep[] | null;
  readonly reservations: readonly { readonly sku: string; readonly qty: number; readonly state: string }[] | null;
}

const SCHEMA = 'order_timeout';
const PAGE = 1_000;
const ms = (column: string): string => `round(extract(epoch FROM ${column}) * 1000)::float8`;

/** Every order, a page at a time. */
export async function* readOrders(database: Database): AsyncGenerator<OrderRecord> {
  let after = '';
  for (;;) {
    const page = await database.query<OrderRecord>(
      `SELECT o.id, o.status, o.version, ${ms('o.created_at')} AS "createdAt", ${ms('o.expires_at')} AS "expiresAt",
              (SELECT json_agg(json_build_object('version', h.version, 'from', h.from_status, 'to', h.to_status,
                        'cause', h.cause, 'at', ${ms('h.occurred_at')}) ORDER BY h.version)
                 FROM ${SCHEMA}.order_history h WHERE h.order_id = o.id) AS history,
              (SELECT json_agg(json_build_object('sku', r.sku, 'qty', r.qty, 'state', r.state))
                 FROM ${SCHEMA}.reservation r WHERE r.order_id = o.id) AS reservations
         FROM ${SCHEMA}.orders o WHERE o.id > $1 ORDER BY o.id LIMIT ${PAGE}`,
      [after],
    );
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.id;
  }
}
