import { type LockedOrder, isUndecided } from '../../src/orders/model/order';
import { paymentTimeout } from '../../src/orders/model/order-timeouts';
import { moneyReceived } from '../../src/orders/model/money';
import { type World } from './world';

/** src/orders/sql/order-transaction.ts: what every use case about one order begins and ends with. */
export function lockAtDesk({ store, engine, agenda }: World, orderId: string): LockedOrder {
  const hadMoney = store.adoptUnmatched(orderId);
  const order = store.lock(orderId);
  // At the same moment, but after the work, which may call timeouts off or move them.
  if (hadMoney || isPaidFor(order)) agenda.after(0, () => engine.schedule(paymentTimeout(orderId), agenda.now));
  return order;
}

export function isPaidFor(order: LockedOrder): boolean {
  return isUndecided(order.status) && moneyReceived(order, order.attempts).type === 'sufficient';
}
