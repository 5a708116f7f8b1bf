import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { TimeoutScheduler } from '../../timeouts';
import { Database, statements, storableJson, type Transaction } from '../../database';
import { type JsonObject } from '../../outbox';
import { type ClosingReason, type LockedOrder, type Order, type OrderView, isUndecided } from '../model/order';
import { paymentTimeout } from '../model/order-timeouts';
import { moneyReceived } from '../model/money';
import { type ActionContext, type Transition } from '../model/transition';
import { adoptUnmatched } from './adopt-unmatched';
import { OrderStore } from './order-store';
import { ORDER_COLUMNS, type OrderRow, readViews, toOrder } from './order-rows';

/** An order under its lock, with the context to work on it. */
export interface LockedOrderContext {
  readonly tx: EntityManager;
  readonly order: LockedOrder;
  /** The database's time, read under the lock. */
  readonly now: Date;
}

/** Who changes an order, and why, for its history. */
export interface Why {
  readonly by: ActionContext;
  readonly reason: string;
}

/** The fields of an order that may change without a change of its status. */
interface Amendment {
  readonly expiresAt?: Date;
  readonly autoClose?: boolean;
  readonly graceMs?: number;
  readonly closingReason?: ClosingReason;
}

const NOT_FOUND = { outcome: 'rejected', code: 'ORDER_NOT_FOUND' } as const;

/** The common start and end of every use case for one order: its lock, its history, and the returned view. */
@Injectable()
export class OrderTransaction {
  constructor(
    readonly database: Database,
    readonly store: OrderStore,
    readonly scheduler: TimeoutScheduler,
  ) {}

  /** Runs `work` on the locked order in one transaction. */
  withOrder<T>(
    orderId: string,
    caller: Transaction | undefined,
    work: (locked: LockedOrderContext) => Promise<T>,
  ): Promise<T | typeof NOT_FOUND> {
    return this.withOrderOr<T | typeof NOT_FOUND>(orderId, caller, work, () => NOT_FOUND);
  }

  /** The same, and `missing` if the order does not exist. */
  withOrderOr<T>(
    orderId: string,
    caller: Transaction | undefined,
    work: (locked: LockedOrderContext) => Promise<T>,
    missing: (tx: EntityManager, now: Date) => Promise<T> | T,
  ): Promise<T> {
    return this.database.run(caller, async (tx) => {
      const locked = await this.store.lock(tx, [orderId], 'wait');
      // Money that arrived before its order is booked by the first transaction that locks the order.
      const { orders, now } = await adoptUnmatched(tx, this.store, locked);
      const order = orders.get(orderId);
      if (!order) return missing(tx, now);
      const result = await work({ tx, order, now });
      // After the work, which may cancel or move timeouts: the closing decides immediately what the money means.
      if (locked.adoptable.length > 0 || isPaidFor(order)) await this.decideNow(tx, orderId);
      return result;
    });
  }

  /** Makes the timeout that closes the order due. It decides about the order as it is then. */
  async decideNow(tx: EntityManager, orderId: string): Promise<void> {
    await this.scheduler.schedule([{ ...paymentTimeout(orderId), afterMs: 0 }], { tx });
  }

  /** Changes a locked order without changing its status. The history gets a row nevertheless. */
  async amend(
    tx: EntityManager,
    order: Order,
    amendment: Amendment,
    { by, reason, evidence }: Why & { readonly evidence: JsonObject },
  ): Promise<Order> {
    const [row] = await tx.query<OrderRow[]>(amendSql(this.database), [
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

  /** The current view of the order in this transaction. */
  async view(tx: EntityManager, orderId: string): Promise<OrderView> {
    const found = (await readViews(tx, this.database, [orderId])).get(orderId);
    if (!found) throw new Error(`order ${orderId} disappeared under its lock`);
    return found.view;
  }
}

const amendSql = statements(
  (schema) => `
      WITH amended AS (
        UPDATE ${schema}.orders
           SET expires_at = COALESCE($3, expires_at), auto_close = COALESCE($4, auto_close),
               grace_ms = COALESCE($5, grace_ms), closing_reason = COALESCE($11, closing_reason), version = version + 1, updated_at = now()
         WHERE id = $1 AND version = $2 RETURNING *),
      history AS (
        INSERT INTO ${schema}.order_history
               (order_id, version, from_status, to_status, cause, actor, reason, evidence, traceparent)
        SELECT id, version, status, status, $6, $7, $8, $9::jsonb, $10 FROM amended)
      SELECT ${ORDER_COLUMNS} FROM amended o`,
);

/**
 * It was booked while another session held its stock, or the order would have ended. Only its timeout makes it PAID.
 */
export function isPaidFor(order: LockedOrder): boolean {
  return isUndecided(order.status) && moneyReceived(order, order.attempts).type === 'sufficient';
}

/**
 * Writes one step of an order that the caller has locked. Throws if the order was not locked, which is a bug; the
 * transaction rolls back.
 */
export async function applyStep(store: OrderStore, tx: EntityManager, step: Transition): Promise<void> {
  const moved = await store.apply(tx, [step]);
  if (!moved.has(step.order.id)) throw new Error(`order ${step.order.id} changed under its lock`);
}
