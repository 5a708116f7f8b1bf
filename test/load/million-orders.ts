import { type DataSource } from 'typeorm';

/** How many orders are pending. */
export const ORDERS = 1_000_000;
export const MERCHANTS = 100;
/** The trace of the order that was placed last. */
export const TRACE = '0af7651916cd43dd8448eb211c80319c';

const numbers = `generate_series(1, ${ORDERS}) n`;
/** Orders are placed over the last hour, and due within the hour that begins in half an hour. */
const placedAt = `now() - (${ORDERS} - n) * interval '3.6 ms'`;
const dueAt = `now() + interval '30 minutes' + n * interval '3.6 ms'`;

const STATEMENTS = [
  `INSERT INTO order_timeout.orders (id, merchant_id, amount, currency, expires_at, fingerprint, created_at, metadata)
   SELECT 'order-' || n, 'merchant-' || n % ${MERCHANTS}, 500, 'EUR', ${dueAt}, '', ${placedAt}, '{"note":"a gift"}'
     FROM ${numbers}`,
  `INSERT INTO order_timeout.order_history (order_id, version, to_status, cause, occurred_at, traceparent)
   SELECT 'order-' || n, 1, 'PENDING', 'api', ${placedAt},
          '00-' || CASE n WHEN ${ORDERS} THEN '${TRACE}' ELSE md5(n::text) END || '-00f067aa0ba902b7-01'
     FROM ${numbers}`,
  `INSERT INTO order_timeout.payment_attempt (provider, reference, order_id, status, amount, currency, evidence)
   SELECT 'posting', 'reference-' || n, 'order-' || n, 'OPEN', 500, 'EUR', '{}' FROM ${numbers} WHERE n % 5 = 0`,
  `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
   SELECT 'order.payment', 'order-' || n, n, ${dueAt}, ${dueAt} FROM ${numbers}`,
  `INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at, state, last_error)
   SELECT 'order.late-watch', 'order-' || n, n, now(), now(), 'parked', 'provider "p' || n || '" failed ' || n || ' times'
     FROM generate_series(1, 20000) n`,
  `INSERT INTO order_timeout.unmatched_payment (id, provider, reference, order_id, amount, currency, evidence, reason)
   SELECT gen_random_uuid(), 'posting', 'late-' || n, 'order-' || n, 500, 'EUR', '{}', 'late'
     FROM generate_series(1, 20000) n`,
  `INSERT INTO order_timeout.outbox (id, route, routing_key, body)
   SELECT gen_random_uuid(), 'event', 'order.placed', jsonb_build_object('orderId', 'order-' || n)
     FROM generate_series(1, 40000) n`,
];

/** Writes a million pending orders, a fifth of them with a payment attempt, 20,000 things that wait for a person, and 40,000 events. */
export async function writeMillionOrders(dataSource: DataSource): Promise<void> {
  for (const statement of STATEMENTS) await dataSource.query(statement);
  await dataSource.query('VACUUM ANALYZE');
}
