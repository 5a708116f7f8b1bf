/** SQL query of the orders that have reserved stock, in the column `order_id`. */
export function reservedOrderIds(schema: string): string {
  return `SELECT DISTINCT order_id FROM ${schema}.reservation WHERE state = 'RESERVED'`;
}
