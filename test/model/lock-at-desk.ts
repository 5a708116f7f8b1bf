import { type LockedOrder } from '../../src/orders/order';
import { paymentTimeout } from '../../src/orders/order-timeouts';
import { type World } from './world';

/** src/orders/order-transaction.ts: what every use case about one order begins and ends with. */
export function lockAtDesk({ store, engine, agenda }: World, orderId: string): LockedOrder {
  const hasAdopted = store.adoptUnmatched(orderId);
  // At the same moment, but after the work, which may call timeouts off or move them.
  if (hasAdopted) agenda.after(0, () => engine.schedule(paymentTimeout(orderId), agenda.now));
  return store.lock(orderId);
}
