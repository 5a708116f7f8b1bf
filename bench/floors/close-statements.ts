/** What closing an unpaid order writes, in plain SQL: the same tables and rows as the product's, and nothing more. */
export const EVENT_BODY = `jsonb_build_object('id', gen_random_uuid(), 'type', 'order.closed', 'version', 1, 'occurredAt', now(),
    'orderId', o.id, 'merchantId', o.merchant_id, 'amount', o.amount, 'currency', o.currency, 'reason', 'expired')`;

/** One order a transaction, as somebody writes it who knows what he does: lock first, skus in one order. */
export function closeOne(id: string): string[] {
  return [
    'BEGIN',
    `SELECT id, status, version, merchant_id, amount, currency, expires_at FROM order_timeout.orders
      WHERE id = ${id} AND status = 'PENDING' FOR NO KEY UPDATE`,
    `SELECT 1 FROM order_timeout.inventory
      WHERE sku IN (SELECT sku FROM order_timeout.reservation WHERE order_id = ${id} AND state = 'RESERVED')
      ORDER BY sku FOR NO KEY UPDATE`,
    `UPDATE order_timeout.orders SET status = 'CLOSED', version = version + 1, closing_reason = 'expired',
            closed_at = now(), updated_at = now() WHERE id = ${id} AND version = 1 AND status = 'PENDING'`,
    `INSERT INTO order_timeout.order_history (order_id, version, from_status, to_status, cause, reason)
     VALUES (${id}, 2, 'PENDING', 'CLOSED', 'message', 'expired')`,
    `WITH ended AS (
       UPDATE order_timeout.reservation SET state = 'RELEASED' WHERE order_id = ${id} AND state = 'RESERVED'
       RETURNING sku, qty)
     UPDATE order_timeout.inventory i SET reserved = i.reserved - e.qty FROM ended e WHERE i.sku = e.sku`,
    `INSERT INTO order_timeout.outbox (id, route, routing_key, body)
     SELECT gen_random_uuid(), 'event', 'order.closed', ${EVENT_BODY} FROM order_timeout.orders o WHERE o.id = ${id}`,
    `DELETE FROM order_timeout.timeout WHERE kind = 'order.payment' AND key = ${id}`,
    'COMMIT',
  ];
}

/** Claims up to $3 due orders after the cursor ($1 next attempt, $2 key), past those that somebody else has. */
export const CLAIM_DUE = `
  SELECT key, next_attempt_at::text AS cursor FROM order_timeout.timeout
   WHERE kind = 'order.payment' AND state = 'pending' AND next_attempt_at <= now()
         AND (next_attempt_at, key) > ($1::timestamptz, $2)
   ORDER BY next_attempt_at, key LIMIT $3 FOR UPDATE SKIP LOCKED`;

export const LOCK_ORDERS = `
  SELECT id, status, version, merchant_id, amount, currency, expires_at FROM order_timeout.orders
   WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE`;

// OFFSET 0: without statistics, as right after a burst was placed, the planner would read all reservations.
export const LOCK_STOCK = `
  SELECT 1 FROM order_timeout.inventory
   WHERE sku IN (
     SELECT held.sku FROM unnest($1::text[]) AS t(id), LATERAL (
       SELECT r.sku FROM order_timeout.reservation r WHERE r.order_id = t.id AND r.state = 'RESERVED' OFFSET 0) held)
   ORDER BY sku FOR NO KEY UPDATE`;

/** Everything that is written for a batch, in one statement. */
export const CLOSE_BATCH = `
  WITH o AS (
    UPDATE order_timeout.orders SET status = 'CLOSED', version = version + 1, closing_reason = 'expired',
           closed_at = now(), updated_at = now()
     WHERE id = ANY($1::text[]) AND status = 'PENDING' RETURNING id, version, merchant_id, amount, currency),
  history AS (
    INSERT INTO order_timeout.order_history (order_id, version, from_status, to_status, cause, reason)
    SELECT id, version, 'PENDING', 'CLOSED', 'message', 'expired' FROM o),
  event AS (
    INSERT INTO order_timeout.outbox (id, route, routing_key, body)
    SELECT gen_random_uuid(), 'event', 'order.closed', ${EVENT_BODY} FROM o),
  ended AS (
    UPDATE order_timeout.reservation SET state = 'RELEASED'
     WHERE order_id = ANY($1::text[]) AND state = 'RESERVED' RETURNING sku, qty),
  stock AS (
    UPDATE order_timeout.inventory i SET reserved = i.reserved - s.qty
      FROM (SELECT sku, sum(qty)::int AS qty FROM ended GROUP BY sku) s WHERE i.sku = s.sku)
  DELETE FROM order_timeout.timeout WHERE kind = 'order.payment' AND key = ANY($1::text[])`;
