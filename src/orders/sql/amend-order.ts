import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { storableJson } from '../../database';
import { type ClosingReason, type Order } from '../order';
import { type ActionContext } from '../transition-cause';
import { ORDER_COLUMNS, type OrderRow, toOrder } from './order-row';

/** The fields of an order that may change without a change of its status. */
export interface Amendment {
  readonly expiresAt?: Date;
  readonly autoClose?: boolean;
  readonly graceMs?: number;
  readonly closingReason?: ClosingReason;
}

/** Changes a locked order without changing its status. The history gets a row nevertheless. */
export class AmendOrder {
  private readonly sql: string;

  constructor(schema: string) {
    this.sql = `
      WITH amended AS (
        UPDATE ${schema}.orders
           SET expires_at = COALESCE($3, expires_at), auto_close = COALESCE($4, auto_close),
               grace_ms = COALESCE($5, grace_ms), closing_reason = COALESCE($11, closing_reason), version = version + 1, updated_at = now()
         WHERE id = $1 AND version = $2 RETURNING *),
      history AS (
        INSERT INTO ${schema}.order_history
               (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
        SELECT id, version, status, status, $6, $7, $8, $9::jsonb, $10 FROM amended)
      SELECT ${ORDER_COLUMNS} FROM amended o`;
  }

  async execute(
    tx: EntityManager,
    order: Order,
    amendment: Amendment,
    why: { readonly by: ActionContext; readonly reason: string; readonly evidence: JsonObject },
  ): Promise<Order> {
    const { by, reason, evidence } = why;
    const [row] = await tx.query<OrderRow[]>(this.sql, [
      order.id,
      order.version,
      amendment.expiresAt?.toISOString() ?? null,
      amendment.autoClose ?? null,
      amendment.graceMs ?? null,
      by.cause,
      by.actor ?? null,
      reason,
      storableJson(evidence),
      by.traceparent ?? null,
      amendment.closingReason ?? null,
    ]);
    if (!row) throw new Error(`order ${order.id} changed under its lock`);
    return toOrder(row);
  }
}
