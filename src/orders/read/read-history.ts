import { type DataSource } from 'typeorm';
import { ownQuery } from '../../database';
import { type OrderStatus } from '../order-status';
import { type TransitionCause } from '../transition-cause';

/** One entry of an order's history. `from` is null for the first entry. */
export interface HistoryEntry {
  readonly version: number;
  readonly from: OrderStatus | null;
  readonly to: OrderStatus;
  readonly cause: TransitionCause;
  readonly actor: string | null;
  readonly reason: string | null;
  readonly evidence: Readonly<Record<string, unknown>> | null;
  readonly traceparent: string | null;
  readonly occurredAt: Date;
}

/** Reads the whole history of an order, oldest entry first. */
export class ReadHistory {
  private readonly sql: string;

  constructor(
    private readonly dataSource: DataSource,
    schema: string,
  ) {
    this.sql = `
      SELECT version, from_status AS "from", to_status AS "to", cause, actor, reason, evidence, traceparent,
             occurred_at AS "occurredAt"
        FROM ${schema}.order_history WHERE order_id = $1 ORDER BY version`;
  }

  /**
   * Uses one statement. An empty result means that there is no such order, because every order has an entry of its
   * creation.
   */
  execute(orderId: string): Promise<HistoryEntry[]> {
    return ownQuery(this.dataSource, this.sql, [orderId]);
  }
}
