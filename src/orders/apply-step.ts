import { type EntityManager } from 'typeorm';
import { type OrderStore } from './sql/order-store';
import { type Transition } from './transition';

/**
 * Writes one step of an order that the caller has locked. Throws if the order was not locked, which is a bug; the
 * transaction rolls back.
 */
export async function applyStep(store: OrderStore, tx: EntityManager, step: Transition): Promise<void> {
  const moved = await store.apply(tx, [step]);
  if (!moved.has(step.order.id)) throw new Error(`order ${step.order.id} changed under its lock`);
}
