import { type EntityManager } from 'typeorm';
import { draftAttempt } from '../attempt-draft';
import { type LockedOrder } from '../order';
import { type LockedBatch, type UnclaimedMoney } from '../order-store';
import { type NewAttempt } from '../new-order';
import { isOfOtherMerchant, isSameAttempt, type PaymentAttempt } from '../payment-attempt';
import { InsertAttempt } from './insert-attempt';

/**
 * Gives orders the payments that were reported before they, or their attempts, were there. At the deadline and not only
 * before: a report whose transaction ran beside the one that placed the order would be seen by neither.
 */
export class AdoptUnclaimed {
  private readonly insert: InsertAttempt;
  private readonly mark: string;

  constructor(schema: string) {
    this.insert = new InsertAttempt(schema);
    this.mark = `UPDATE ${schema}.orphan_payment SET handling = 'adopted' WHERE id = $1`;
  }

  async execute(tx: EntityManager, batch: LockedBatch): Promise<LockedBatch> {
    if (batch.unclaimed.length === 0) return batch;
    const orders = new Map(batch.orders);
    for (const money of batch.unclaimed) {
      const order = orders.get(money.orderId);
      if (order) orders.set(order.id, await this.adopt(tx, order, money, batch.now));
    }
    return { ...batch, orders, unclaimed: [] };
  }

  /** Money on an attempt that is another order's, or was made for another merchant, stays where it is. */
  private async adopt(tx: EntityManager, order: LockedOrder, money: UnclaimedMoney, now: Date): Promise<LockedOrder> {
    const known = order.attempts.find((attempt) => isSameAttempt(attempt, money));
    if (known && isOfOtherMerchant(known, merchantOf(money))) return order;
    const paid = paidAttempt(known ?? draftAttempt(order, attemptOf(money), now), money, now);
    if (!(await this.insert.asPaid(tx, paid, money.evidence))) return order;
    await tx.query(this.mark, [money.id]);
    return { ...order, attempts: [...order.attempts.filter((attempt) => !isSameAttempt(attempt, money)), paid] };
  }
}

function attemptOf(money: UnclaimedMoney): NewAttempt {
  const { provider, reference } = money;
  return { provider, reference, merchantAccount: merchantOf(money) };
}

function merchantOf({ evidence: { merchantAccount } }: UnclaimedMoney): string | undefined {
  return typeof merchantAccount === 'string' ? merchantAccount : undefined;
}

function paidAttempt(attempt: PaymentAttempt, money: UnclaimedMoney, now: Date): PaymentAttempt {
  const { paidAt, transactionId } = money.evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : now;
  return {
    ...attempt,
    merchantAccount: attempt.merchantAccount ?? merchantOf(money) ?? null,
    status: 'PAID',
    paidAmount: money.amount,
    paidCurrency: money.currency,
    paidAt: Number.isNaN(at.getTime()) ? now : at,
    transactionId: typeof transactionId === 'string' ? transactionId : null,
  };
}
