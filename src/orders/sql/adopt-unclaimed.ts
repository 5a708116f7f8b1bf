import { type EntityManager } from 'typeorm';
import { bookMoney, type Money } from '../pay/book-money';
import { type LockedOrder } from '../order';
import { writeBooking } from '../pay/write-booking';
import { type LockedBatch, type OrderStore, type UnclaimedMoney } from './order-store';

type Store = Pick<OrderStore, 'insertPaid' | 'writeAttempts' | 'samePayments' | 'closeUnmatched'>;

/**
 * Gives orders the payments that were reported before they, or their attempts, were there. At the deadline and not only
 * before: a report whose transaction ran beside the one that placed the order would be seen by neither.
 */
export class AdoptUnclaimed {
  constructor(private readonly store: Store) {}

  async execute(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch> {
    if (batch.unclaimed.length === 0) return batch;
    const orders = new Map(batch.orders);
    for (const unclaimed of batch.unclaimed) {
      const order = orders.get(unclaimed.orderId);
      if (order) orders.set(order.id, await this.adopt(tx, order, unclaimed, batch.now));
    }
    return { ...batch, orders, unclaimed: [] };
  }

  /** Money on an attempt that is another order's, or that another order counts on, stays where it is. */
  private async adopt(
    tx: EntityManager,
    order: LockedOrder,
    unclaimed: UnclaimedMoney,
    now: Date,
  ): Promise<LockedOrder> {
    const money = moneyOf(unclaimed, now);
    const { attempts } = await this.store.samePayments(tx, [money]);
    if (attempts.some(({ orderId }) => orderId !== order.id)) return order;
    const booking = bookMoney(order, money);
    if (booking.isDisputed) return order;
    // Registered for another order since it was looked for: a person has to find out whose it is.
    if (!(await writeBooking(this.store, tx, booking, { ...unclaimed.evidence }))) return order;
    await this.store.closeUnmatched(tx, [unclaimed.id]);
    return booking.after;
  }
}

function moneyOf({ evidence, ...unclaimed }: UnclaimedMoney, now: Date): Money {
  const { provider, reference, merchantAccount, amount, currency, source } = unclaimed;
  const { paidAt, transactionId } = evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : now;
  return {
    ...{ provider, reference, merchantAccount, amount, currency, source },
    paidAt: Number.isNaN(at.getTime()) ? now : at,
    transactionId: typeof transactionId === 'string' ? transactionId : null,
  };
}
