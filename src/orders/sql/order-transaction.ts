import { type DataSource, type EntityManager } from 'typeorm';
import { type TimeoutScheduler } from '../../timeouts';
import { runTransaction, type Transaction } from '../../database';
import { type LockedOrder, type OrderView, isUndecided } from '../model/order';
import { paymentTimeout } from '../model/order-timeouts';
import { moneyReceived } from '../model/money';
import { type Transition } from '../model/transition';
import { type OrderStore } from './order-store';
import { ReadViews } from './order-rows';

interface OrderTransactionDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly store: OrderStore;
  readonly scheduler: TimeoutScheduler;
}

/** An order under its lock, with the context to work on it. */
export interface LockedOrderContext {
  readonly tx: EntityManager;
  readonly order: LockedOrder;
  /** The database's time, read under the lock. */
  readonly now: Date;
}

/**
 * It was booked while another session held its stock, or the order would have ended. Only its timeout makes it PAID.
 */
export function isPaidFor(order: LockedOrder): boolean {
  return isUndecided(order.status) && moneyReceived(order, order.attempts).type === 'sufficient';
}

/** The common start and end of every use case for one order: its lock, and the returned view. */
export class OrderTransaction {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly store: OrderStore;
  readonly scheduler: TimeoutScheduler;
  private readonly views: ReadViews;

  constructor(deps: OrderTransactionDependencies) {
    this.dataSource = deps.dataSource;
    this.schema = deps.schema;
    this.store = deps.store;
    this.scheduler = deps.scheduler;
    this.views = new ReadViews(deps.schema);
  }

  /** Runs `work` on the locked order, or `missing` if it does not exist, in one transaction. */
  withOrder<T>(
    orderId: string,
    caller: Transaction | undefined,
    work: (locked: LockedOrderContext) => Promise<T>,
    missing: (tx: EntityManager, now: Date) => Promise<T> | T,
  ): Promise<T> {
    return runTransaction(this, caller, async (tx) => {
      const locked = await this.store.lock(tx, [orderId], 'wait');
      // Money that arrived before its order is booked by the first transaction that locks the order.
      const { orders, now } = await this.store.adoptUnmatched(tx, locked);
      const order = orders.get(orderId);
      if (!order) return missing(tx, now);
      const result = await work({ tx, order, now });
      // After the work, which may cancel or move timeouts: the closing decides immediately what the money means.
      if (locked.adoptable.length > 0 || isPaidFor(order))
        await this.scheduler.schedule([{ ...paymentTimeout(orderId), afterMs: 0 }], { tx });
      return result;
    });
  }

  /** The current view of the order in this transaction. */
  async view(tx: EntityManager, orderId: string): Promise<OrderView> {
    const found = (await this.views.execute(tx, [orderId])).get(orderId);
    if (!found) throw new Error(`order ${orderId} disappeared under its lock`);
    return found.view;
  }
}

/**
 * Writes one step of an order that the caller has locked. Throws if the order was not locked, which is a bug; the
 * transaction rolls back.
 */
export async function applyStep(store: OrderStore, tx: EntityManager, step: Transition): Promise<void> {
  const moved = await store.apply(tx, [step]);
  if (!moved.has(step.order.id)) throw new Error(`order ${step.order.id} changed under its lock`);
}
