import { released } from './book-money';
import { neededPayments } from './decide-claim';
import { type LockedOrder } from '../order';
import { type LockedContext } from '../unmatched/locked-context';
import { type PaymentWatch } from '../unmatched/payment-watch';
import { type OrderTransaction } from '../order-transaction';
import { isUndecided } from '../order-status';
import { paymentTimeout } from '../order-timeouts';
import { isBooked, isClaim, isSameAttempt, isSamePayment, type PaymentAttempt } from '../payment-attempt';
import { AmendOrder } from '../sql/amend-order';

const REASON = 'payment of another order';

/** Takes payments from an order that only a report had linked to it, after another order got them. */
export class ReleaseClaims {
  private readonly amend: AmendOrder;

  constructor(
    private readonly transaction: OrderTransaction,
    private readonly watch: PaymentWatch,
  ) {
    this.amend = new AmendOrder(transaction.schema);
  }

  /**
   * Returns the order after that. Its own attempts may take money again, so they are closed at their providers: at the
   * deadline, or by the payment watch of an order that has ended. An order that is PAID stays PAID; a person was told.
   */
  async execute(order: LockedOrder, { tx, by, now }: LockedContext): Promise<LockedOrder> {
    const lost = await this.lostBy(order, tx);
    if (lost.length === 0) return order;
    const { store, scheduler } = this.transaction;
    const attempts = order.attempts.map((one) => (lost.includes(one) ? released(order.status, one) : one));
    const changed = attempts.filter((one) => !order.attempts.includes(one));
    const evidence = { lost: lost.map(({ provider, reference }) => ({ provider, reference })) };
    await store.writeAttempts(
      tx,
      changed.map((attempt) => ({ attempt, evidence: { reason: REASON } })),
    );
    const after = {
      ...order,
      ...(await this.amend.execute(tx, order, {}, { by, reason: REASON, evidence })),
      attempts,
    };
    if (order.status === 'PAID') await store.contested.closeNeeded(tx, neededPayments(after));
    if (isUndecided(order.status)) await scheduler.schedule([{ ...paymentTimeout(order.id), afterMs: 0 }], { tx });
    else await this.watch.begin(tx, [after], now, by.traceparent);
    return after;
  }

  private async lostBy(order: LockedOrder, tx: LockedContext['tx']): Promise<readonly PaymentAttempt[]> {
    const claims = order.attempts.filter(isClaim);
    if (claims.length === 0) return [];
    const contested = await this.transaction.store.contested.lostBy(tx, order.id);
    const named = claims.filter((claim) => contested.some((key) => isSameAttempt(key, claim)));
    if (named.length === 0) return [];
    const { attempts } = await this.transaction.store.samePayments(tx, named);
    const holders = attempts.filter((one) => one.orderId !== order.id && one.registered && isBooked(one));
    return named.filter((claim) => holders.some((holder) => isSamePayment(holder, claim)));
  }
}
