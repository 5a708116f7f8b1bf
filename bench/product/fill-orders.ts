import { SKUS } from './new-orders';
import { type RunBooks } from './run-books';

/** Rows of one statement. */
const CHUNK = 50_000;

const ID = `$1 || '-' || lpad(n::text, 8, '0')`;
/** The two goods of order n, different ones. */
const GOODS = `CROSS JOIN LATERAL (VALUES
    (1, 'sku-' || lpad((n % ${SKUS})::text, 4, '0'), 1, 1500),
    (2, 'sku-' || lpad(((n + 1 + (n / ${SKUS}) % ${SKUS - 1}) % ${SKUS})::text, 4, '0'), 2, 750)) g(line_no, sku, qty, price)`;
const SERIES = 'generate_series($2::int, $3::int) n';

interface Fill {
  readonly prefix: string;
  readonly from: number;
  readonly count: number;
}

/** Orders that came to their end long ago, with their stock released: what a year leaves behind. */
export async function fillClosed(books: RunBooks, fill: Fill): Promise<void> {
  await inChunks(fill, async (...range) => {
    await books.query(
      `INSERT INTO order_timeout.orders (id, status, version, amount, currency, expires_at, closing_reason, fingerprint,
                                         created_at, updated_at, closed_at)
       SELECT ${ID}, 'CLOSED', 2, 3000, 'CNY', now() - interval '1 day', 'expired', md5(n::text) || md5(n::text),
              now() - interval '2 days', now() - interval '1 day', now() - interval '1 day' FROM ${SERIES}`,
      range,
    );
    await books.query(
      `INSERT INTO order_timeout.reservation (order_id, sku, qty, state)
       SELECT ${ID}, g.sku, g.qty, 'RELEASED' FROM ${SERIES} ${GOODS}`,
      range,
    );
  });
}

/** Orders that wait for their deadline, 2 to 20 h ahead, as placing them leaves them; with a wake-up where wanted. */
export async function fillPending(books: RunBooks, fill: Fill, hasWakeUps: boolean): Promise<void> {
  await inChunks(fill, async (...range) => {
    await books.query(
      `INSERT INTO order_timeout.orders (id, amount, currency, expires_at, reminder_offsets_ms, fingerprint)
       SELECT ${ID}, 3000, 'CNY', now() + interval '2 hours' + (n::bigint * 7919 % 64800) * interval '1 second', '{}',
              md5(n::text) || md5(n::text) FROM ${SERIES}`,
      range,
    );
    await books.query(
      `INSERT INTO order_timeout.order_line (order_id, line_no, sku, quantity, unit_amount)
       SELECT ${ID}, g.line_no, g.sku, g.qty, g.price FROM ${SERIES} ${GOODS}`,
      range,
    );
    await books.query(
      `INSERT INTO order_timeout.order_history (order_id, version, from_status, to_status, cause)
       SELECT ${ID}, 1, NULL, 'PENDING', 'api' FROM ${SERIES}`,
      range,
    );
    await books.query(
      `WITH held AS (
         INSERT INTO order_timeout.reservation (order_id, sku, qty) SELECT ${ID}, g.sku, g.qty FROM ${SERIES} ${GOODS}
         RETURNING sku, qty)
       UPDATE order_timeout.inventory i SET reserved = i.reserved + s.qty
         FROM (SELECT sku, sum(qty)::int AS qty FROM held GROUP BY sku) s WHERE i.sku = s.sku`,
      range,
    );
    await books.query(
      `WITH t AS (
         INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
         SELECT 'order.payment', o.id, nextval('order_timeout.timeout_generation'), o.expires_at, o.expires_at
           FROM ${SERIES} JOIN order_timeout.orders o ON o.id = ${ID} RETURNING *)
       INSERT INTO order_timeout.outbox (id, route, routing_key, body, deliver_at)
       SELECT gen_random_uuid(), 'wake-up', kind, jsonb_build_object('kind', kind, 'key', key, 'generation',
              generation::text, 'dueAt', ceil(extract(epoch FROM due_at) * 1000)), due_at
         FROM t WHERE ${hasWakeUps}`,
      range,
    );
  });
}

async function inChunks(
  { prefix, from, count }: Fill,
  insert: (prefix: string, first: number, last: number) => Promise<void>,
): Promise<void> {
  for (let first = from; first < from + count; first += CHUNK) {
    await insert(prefix, first, Math.min(first + CHUNK, from + count) - 1);
  }
}
