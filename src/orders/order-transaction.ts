import { type DataSource, type EntityManager } from 'typeorm';
import { type TimeoutScheduler } from '../timeouts';
import { type LockedOrder } from './order';
import { type OrderStore } from './sql/order-store';
import { paymentTimeout } from './order-timeouts';
import { type OrderView } from './order-view';
import { isUndecided } from './order-status';
import { moneyReceived } from './pay/money-received';
import { runTransaction } from '../database';
import { ReadViews } from './sql/read-views';

interface DeskDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly store: OrderStore;
  readonly scheduler: TimeoutScheduler;
}

/** An order under its lock, and what it takes to work on it. */
export interface OpenFile {
  readonly tx: EntityManager;
  readonly order: LockedOrder;
  /** The database's time, read under the lock. */
  readonly now: Date;
}

/** Booked while another session held its stock, or the order would not be undecided: only its timeout makes it PAID. */
function isPaidFor(order: LockedOrder): boolean {
  return isUndecided(order.status) && moneyReceived(order, order.attempts).type === 'sufficient';
}

/** What every use case about one order begins and ends with: its lock, and the view that it answers with. */
export class OrderTransaction {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly store: OrderStore;
  readonly scheduler: TimeoutScheduler;
  private readonly views: ReadViews;

  constructor(deps: DeskDependencies) {
    this.dataSource = deps.dataSource;
    this.schema = deps.schema;
    this.store = deps.store;
    this.scheduler = deps.scheduler;
    this.views = new ReadViews(deps.schema);
  }

  /** Runs `work` on the locked order, or `missing` where there is none, in one transaction. */
  withOrder<T>(
    orderId: string,
    caller: EntityManager | undefined,
    work: (file: OpenFile) => Promise<T>,
    missing: (tx: EntityManager, now: Date) => Promise<T> | T,
  ): Promise<T> {
    return runTransaction(this.dataSource, caller, async (tx) => {
      const locked = await this.store.lock(tx, [orderId], 'wait');
      // Money that came before its order is booked by the first who has the order in hand.
      const { orders, now } = await this.store.adoptUnclaimed(tx, locked);
      const order = orders.get(orderId);
      if (!order) return missing(tx, now);
      const result = await work({ tx, order, now });
      // After the work, which may call timeouts off or move them: the closing decides at once what the money means.
      if (locked.unclaimed.length > 0 || isPaidFor(order))
        await this.scheduler.schedule(tx, [{ ...paymentTimeout(orderId), afterMs: 0 }]);
      return result;
    });
  }

  /** The order as it is now in this transaction. */
  async view(tx: EntityManager, orderId: string): Promise<OrderView> {
    const found = (await this.views.execute(tx, [orderId])).get(orderId);
    if (!found) throw new Error(`order ${orderId} disappeared under its lock`);
    return found.view;
  }
}
