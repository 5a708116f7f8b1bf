import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { type Booking } from './book-money';
import { type OrderStore } from '../sql/order-store';

/**
 * Writes what a booking makes of the attempts of a locked order. False, with nothing written: an attempt that nobody had
 * registered has been registered for another order meanwhile.
 */
export async function writeBooking(
  store: Pick<OrderStore, 'insertPaid' | 'writeAttempts'>,
  tx: EntityManager,
  { changed, isNew, holder }: Booking,
  evidence: JsonObject,
): Promise<boolean> {
  if (isNew && !(await store.insertPaid(tx, { attempt: holder, evidence }))) return false;
  const others = changed.filter((attempt) => !isNew || attempt !== holder);
  await store.writeAttempts(
    tx,
    others.map((attempt) => ({ attempt, evidence })),
  );
  return true;
}
