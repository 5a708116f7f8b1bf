import { Injectable } from '@nestjs/common';
import { Database, onOwnConnection, STATEMENT_MS, statements } from '../../database';
import { TimeoutScheduler } from '../../timeouts';
import { paymentTimeout } from '../model/order-timeouts';
import { type OrderView, type OrderStatus } from '../model/order';
import { readViews, type ReadOrderRow } from '../sql/order-rows';
import { type TransitionCause } from '../model/transition';
import { closesAt } from '../model/decide-closing';

/**
 * Reads an order. Expiry is computed from the database's clock, so the answer is right even if the closing is behind.
 * An overdue order that has not been handled is handled now, in the background.
 */
@Injectable()
export class ReadOrder {
  constructor(
    private readonly database: Database,
    private readonly scheduler: TimeoutScheduler,
  ) {}

  /** Uses one statement. Undefined: there is no such order. */
  async execute(orderId: string): Promise<OrderView | undefined> {
    const views = await onOwnConnection(this.database.dataSource, STATEMENT_MS, ({ manager }) =>
      readViews(manager, this.database, [orderId]),
    );
    const found = views.get(orderId);
    if (found && isOverdue(found)) this.scheduler.wake([paymentTimeout(orderId)], 'passive');
    return found?.view;
  }
}

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
@Injectable()
export class ReadHistory {
  constructor(private readonly database: Database) {}

  /**
   * Uses one statement. An empty result means that there is no such order, because every order has an entry of its
   * creation.
   */
  execute(orderId: string): Promise<HistoryEntry[]> {
    return this.database.query(historySql(this.database), [orderId]);
  }
}

const historySql = statements(
  (schema) => `
      SELECT version, from_status AS "from", to_status AS "to", cause, actor, reason, evidence, traceparent,
             occurred_at AS "occurredAt"
        FROM ${schema}.order_history WHERE order_id = $1 ORDER BY version`,
);

/** Whether the order should have been closed by now. */
export function isOverdue({ order, now }: ReadOrderRow): boolean {
  return order.status === 'PENDING' && order.autoClose && now >= closesAt(order);
}
