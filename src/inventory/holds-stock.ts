/** SQL expression that is true while the order has reserved stock. @param orderId an SQL expression. */
export function holdsStock(schema: string, orderId: string): string {
  return `((SELECT true FROM ${schema}.reservation held
            WHERE held.order_id = ${orderId} AND held.state = 'RESERVED' LIMIT 1) IS TRUE)`;
}
