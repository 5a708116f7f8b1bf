import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { type Booking } from './book-money';
import { type AttemptWrite } from '../sql/write-attempts';

/** Implemented by OrderStore. */
export interface BookingWriter {
  insertPaid(tx: EntityManager, write: AttemptWrite): Promise<boolean>;
  writeAttempts(tx: EntityManager, writes: readonly AttemptWrite[]): Promise<void>;
}

/**
 * Writes the changes of a booking to the attempts of a locked order. Returns false and writes nothing if the
 * unregistered attempt has been registered for another order in the meantime.
 */
export async function writeBooking(
  store: BookingWriter,
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
