/** SQL: true while the order holds stock. @param orderId an SQL expression. */
export function holdsStock(schema: string, orderId: string): string {
  return `((SELECT true FROM ${schema}.reservation held
            WHERE held.order_id = ${orderId} AND held.state = 'RESERVED' LIMIT 1) IS TRUE)`;
}
