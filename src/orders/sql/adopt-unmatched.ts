import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { isMoney } from '../input';
import { bookMoney, type Booking } from '../model/money';
import { decideClaim, namesOfMoney, unownedMoney } from '../model/decide-claim';
import { type LockedOrder, isSameAttempt } from '../model/order';
import { isHandled } from './handled-payments';
import { type AdoptablePayment, type LockedBatch } from './lock-orders';
import { type OrderStore } from './order-store';

/**
 * Books payments that were reported before their orders, or before their attempts were registered. Returns the changed
 * batch. It also runs at the deadline: neither of two concurrent transactions, one with the report and one that places
 * the order, sees the other.
 */
export async function adoptUnmatched(tx: EntityManager, store: OrderStore, batch: LockedBatch): Promise<LockedBatch> {
  if (batch.adoptable.length === 0) return batch;
  const orders = new Map(batch.orders);
  for (const adoptable of batch.adoptable) {
    const order = orders.get(adoptable.orderId);
    // Another merchant account may use the same reference.
    const isIts = order?.attempts.some((attempt) => isSameAttempt(store.resolved(attempt), adoptable)) === true;
    if (order && (adoptable.namesOrder || isIts))
      orders.set(order.id, await adopt(tx, store, order, adoptable, batch.now));
  }
  return { ...batch, orders, adoptable: [] };
}

/**
 * Money of an attempt that belongs to another order, or that another order counts on, stays where it is. So does what is
 * no money: a release before stored whatever a provider stated.
 */
async function adopt(
  tx: EntityManager,
  store: OrderStore,
  order: LockedOrder,
  adoptable: AdoptablePayment,
  now: Date,
): Promise<LockedOrder> {
  const told = unownedMoney(adoptable, now);
  if (!isMoney(told)) return order;
  const booking = bookMoney(order, told);
  const { money } = booking;
  const same = await store.samePaymentsLocked(tx, namesOfMoney(told, money));
  if (decideClaim(order, money, same, booking.wasBooked) === 'refused') return order;
  if (!booking.wasBooked && isHandled(same.handled, money)) return order;
  // What a person has settled counts as none, so the row stays the one that shows it.
  if (booking.isDisputed || booking.holder.status === 'SETTLED') return order;
  if (!(await store.holdUnmatched(tx, [adoptable]))) return order;
  // It was registered for another order in the meantime. A person must find out whose it is.
  if (!(await writeBooking(tx, store, booking, { ...adoptable.evidence }))) return order;
  await store.closeUnmatched(tx, [adoptable]);
  return booking.after;
}

/**
 * Writes the changes of a booking to the attempts of a locked order. Returns false and writes nothing if the
 * unregistered attempt has been registered for another order in the meantime.
 */
export async function writeBooking(
  tx: EntityManager,
  store: OrderStore,
  { changed, isNew, holder }: Booking,
  evidence: JsonObject,
): Promise<boolean> {
  if (isNew && !(await store.insertPaid(tx, { attempt: holder, evidence }))) return false;
  const others = changed.filter((attempt) => !isNew || attempt !== holder).map((attempt) => ({ attempt, evidence }));
  await store.writeAttempts(tx, others);
  return true;
}
