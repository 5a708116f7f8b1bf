import { type EntityManager } from 'typeorm';
import { type JsonObject } from '../../outbox';
import { isMoney } from '../input';
import { bookMoney, type Booking, type AttemptWrite } from '../model/money';
import { decideClaim, namesOfMoney, unownedMoney, type SamePayments } from '../model/decide-claim';
import { type LockedOrder, isSameAttempt, type PaymentAttempt, type PaymentNames } from '../model/order';
import { isHandled } from './handled-payments';
import { type AdoptablePayment, type LockedBatch } from './lock-orders';

/** Implemented by OrderStore, which uses this class. */
interface Store extends BookingWriter {
  samePaymentsLocked(tx: EntityManager, names: readonly PaymentNames[]): Promise<SamePayments>;
  holdUnmatched(tx: EntityManager, money: readonly AdoptablePayment[]): Promise<boolean>;
  closeUnmatched(tx: EntityManager, money: readonly AdoptablePayment[]): Promise<void>;
  resolved(attempt: PaymentAttempt): PaymentAttempt;
}

/**
 * Books payments that were reported before their orders, or before their attempts were registered. It also runs at the
 * deadline: neither of two concurrent transactions, one with the report and one that places the order, sees the other.
 */
export class AdoptUnmatched {
  constructor(private readonly store: Store) {}

  async execute(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch> {
    const orders = new Map(batch.orders);
    for (const adoptable of batch.adoptable) {
      const order = orders.get(adoptable.orderId);
      if (order && this.isFor(order, adoptable))
        orders.set(order.id, await this.adopt(tx, order, adoptable, batch.now));
    }
    return { ...batch, orders, adoptable: [] };
  }

  /** Another merchant account may use the same reference. */
  private isFor({ attempts }: LockedOrder, adoptable: AdoptablePayment): boolean {
    return adoptable.namesOrder || attempts.some((attempt) => isSameAttempt(this.store.resolved(attempt), adoptable));
  }

  /**
   * Money of an attempt that belongs to another order, or that another order counts on, stays where it is. So does what is
   * no money: a release before stored whatever a provider stated.
   */
  private async adopt(
    tx: EntityManager,
    order: LockedOrder,
    adoptable: AdoptablePayment,
    now: Date,
  ): Promise<LockedOrder> {
    const told = unownedMoney(adoptable, now);
    if (!isMoney(told)) return order;
    const booking = bookMoney(order, told);
    const { money } = booking;
    const same = await this.store.samePaymentsLocked(tx, namesOfMoney(told, money));
    if (decideClaim(order, money, same, booking.wasBooked) === 'refused') return order;
    if (!booking.wasBooked && isHandled(same.handled, money)) return order;
    // What a person has settled counts as none, so the row stays the one that shows it.
    if (booking.isDisputed || booking.holder.status === 'SETTLED') return order;
    if (!(await this.store.holdUnmatched(tx, [adoptable]))) return order;
    // It was registered for another order in the meantime. A person must find out whose it is.
    if (!(await writeBooking(this.store, tx, booking, { ...adoptable.evidence }))) return order;
    await this.store.closeUnmatched(tx, [adoptable]);
    return booking.after;
  }
}

/** Implemented by OrderStore. */
interface BookingWriter {
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
