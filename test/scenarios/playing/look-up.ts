import { type Placed, type PlacedPayment } from './placed-order';

// Ids and references are ours: letters, digits, dashes and underscores.

/** SQL: the order's status. */
export function statusSql({ id }: Placed): string {
  return `SELECT status FROM order_timeout.orders WHERE id = '${id}'`;
}

/** SQL: the order's own timeouts that were given up, and those of its refunds. */
export function parkedSql({ id }: Placed): string {
  const refunds = `SELECT number FROM order_timeout.refund WHERE order_id = '${id}'`;
  return `SELECT kind, key FROM order_timeout.timeout
           WHERE state = 'parked' AND (key = '${id}' OR key IN (${refunds}))`;
}

/** SQL: the payment as one that no order knows. */
export function keptSql({ provider, reference, ownerAccount }: PlacedPayment): string {
  return `SELECT id FROM order_timeout.unmatched_payment
           WHERE provider = '${provider}' AND reference = '${reference}' AND merchant_account = '${ownerAccount}'
             AND reason = 'unknown-order' AND handling = 'kept'`;
}
