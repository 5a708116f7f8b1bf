import { type RunBooks } from './run-books';

/** When the orders of a run were closed, in milliseconds from their deadline to the commit, by the database's clock. */
export interface Closed {
  readonly count: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
}

interface Row {
  readonly orders: number;
  readonly closed: number;
  readonly early: number;
  readonly first_ms: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly last_ms: number;
}

/** The commit that wrote an order's last row of history; it is written once, in the transaction that closes. */
const COMMITS = `
  SELECT o.status, extract(epoch FROM pg_xact_commit_timestamp(h.xmin) - o.expires_at)::float8 * 1000 AS late_ms
    FROM order_timeout.orders o
    LEFT JOIN order_timeout.order_history h ON h.order_id = o.id AND h.to_status = 'CLOSED'
   WHERE o.id LIKE $1 || '-%'`;

/** @throws Error when not all are closed, one was closed early, or the stock is not all back. */
export async function checkClosed(books: RunBooks, prefix: string, expected: number): Promise<Closed> {
  const [row] = await books.query<Row>(
    `SELECT count(*)::int AS orders, count(*) FILTER (WHERE status = 'CLOSED' AND late_ms IS NOT NULL)::int AS closed,
            count(*) FILTER (WHERE late_ms < 0)::int AS early, min(late_ms) AS first_ms, max(late_ms) AS last_ms,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY late_ms) AS p50_ms,
            percentile_disc(0.99) WITHIN GROUP (ORDER BY late_ms) AS p99_ms
       FROM (${COMMITS}) commits`,
    [prefix],
  );
  if (row?.orders !== expected || row.closed !== expected || row.early !== 0) {
    throw new Error(`of ${expected} orders ${row?.closed} are closed, ${row?.early} of them early`);
  }
  await checkStock(books, prefix, expected);
  const { first_ms: firstMs, p50_ms: p50Ms, p99_ms: p99Ms, last_ms: lastMs } = row;
  return { count: expected, firstMs, p50Ms, p99Ms, lastMs };
}

async function checkStock(books: RunBooks, prefix: string, orders: number): Promise<void> {
  const [row] = await books.query<{ released: number; different: number }>(
    `SELECT (SELECT count(*)::int FROM order_timeout.reservation
              WHERE order_id LIKE $1 || '-%' AND state = 'RELEASED') AS released,
            (SELECT count(*)::int FROM order_timeout.inventory i LEFT JOIN (
               SELECT sku, sum(qty) AS qty FROM order_timeout.reservation WHERE state = 'RESERVED' GROUP BY sku) r
             USING (sku) WHERE i.reserved <> COALESCE(r.qty, 0)) AS different`,
    [prefix],
  );
  if (row?.released !== orders * 2 || row.different !== 0) {
    throw new Error(`stock is wrong: ${row?.released} of ${orders * 2} lines released, ${row?.different} sums differ`);
  }
}
