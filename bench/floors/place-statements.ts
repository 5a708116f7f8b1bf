/** What placing an order writes, in plain SQL, with the product's tables: one order a transaction. */
export function placeOne(id: string, firstSku: string, secondSku: string): string[] {
  return [
    'BEGIN',
    `INSERT INTO order_timeout.orders (id, merchant_id, amount, currency, expires_at, auto_close, grace_ms,
                                       reminder_offsets_ms, metadata, fingerprint)
     VALUES (${id}, 'default', 3000, 'CNY', now() + interval '30 minutes', true, 0, '{}', NULL,
             repeat('0123456789abcdef', 4))`,
    `INSERT INTO order_timeout.order_line (order_id, line_no, sku, quantity, unit_amount)
     VALUES (${id}, 1, ${firstSku}, 1, 1500), (${id}, 2, ${secondSku}, 2, 750)`,
    `INSERT INTO order_timeout.order_history (order_id, version, from_status, to_status, cause)
     VALUES (${id}, 1, NULL, 'PENDING', 'api')`,
    `WITH t AS (
       INSERT INTO order_timeout.timeout (kind, key, generation, due_at, next_attempt_at)
       VALUES ('order.payment', ${id}, nextval('order_timeout.timeout_generation'), now() + interval '30 minutes',
               now() + interval '30 minutes')
       RETURNING kind, key, generation, due_at)
     INSERT INTO order_timeout.outbox (id, route, routing_key, body, deliver_at)
     SELECT gen_random_uuid(), 'wake-up', kind,
            jsonb_build_object('kind', kind, 'key', key, 'generation', generation::text, 'dueAt', 1700000000000), due_at
       FROM t`,
    `SELECT on_hand - reserved FROM order_timeout.inventory WHERE sku IN (${firstSku}, ${secondSku})
      ORDER BY sku FOR NO KEY UPDATE`,
    `INSERT INTO order_timeout.reservation (order_id, sku, qty) VALUES (${id}, ${firstSku}, 1), (${id}, ${secondSku}, 2)`,
    `UPDATE order_timeout.inventory SET reserved = reserved + CASE WHEN sku = ${firstSku} THEN 1 ELSE 2 END
      WHERE sku IN (${firstSku}, ${secondSku})`,
    'COMMIT',
  ];
}
