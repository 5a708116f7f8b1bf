/** SQL expression that is true while the order has reserved stock. @param orderId an SQL expression. */
export function holdsStock(schema: string, orderId: string): string {
  return `((SELECT true FROM ${schema}.reservation held
            WHERE held.order_id = ${orderId} AND held.state = 'RESERVED' LIMIT 1) IS TRUE)`;
}

/** SQL query of the orders that have reserved stock, in the column `order_id`. */
export function reservedOrderIds(schema: string): string {
  return `SELECT DISTINCT order_id FROM ${schema}.reservation WHERE state = 'RESERVED'`;
}
