import { type EntityManager } from 'typeorm';

/** Finds the bulk actions that an order has gone through. Their ids are in its history, which is written in their transaction. */
export class NotedActions {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `SELECT 1 FROM ${schema}.order_history WHERE order_id = $1 AND evidence->>'actionId' = $2 LIMIT 1`;
  }

  /** Call it under the lock of the order. */
  async has(tx: EntityManager, orderId: string, actionId: string): Promise<boolean> {
    return (await tx.query<unknown[]>(this.sql, [orderId, actionId])).length > 0;
  }
}
