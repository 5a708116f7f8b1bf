import { type EntityManager } from 'typeorm';
import { type DueTimeout } from '../../timeouts';
import { type AttemptFinding, type Finding } from '../lookup/attempt-finding';
import { bookMoney, type Money } from '../pay/book-money';
import { type LockedOrder } from '../order';
import { type OrderStore } from '../sql/order-store';
import { type LockedBatch } from '../sql/lock-orders';
import { isBooked, isSameAttempt, isSamePayment, type PaymentAttempt } from '../payment-attempt';
import { paymentsFound, withFindings } from '../lookup/with-findings';
import { type LockedContext } from './locked-context';
import { unmatchedFromAttempt } from './unmatched-from-attempt';

/** An order, and the findings of its look-ups. */
export interface AskedOrder {
  /** With its attempts after the findings. */
  readonly after: LockedOrder;
  readonly findings: readonly AttemptFinding[];
}

type Context = Pick<LockedContext, 'tx' | 'by' | 'now'>;

/** Compares payments that providers confirmed with everything else that is known under their names. */
export class NoteUnmatchedMoney {
  constructor(private readonly store: OrderStore) {}

  /**
   * Closes unmatched money that is one of these payments, and reports payments that another order also counts on to a
   * person.
   */
  async execute(asked: readonly AskedOrder[], { tx, by, now }: Context): Promise<void> {
    const money = asked.flatMap(({ findings }) => paymentsFound(findings));
    if (money.length === 0) return;
    const { attempts, unmatched } = await this.store.samePayments(tx, money);
    await this.store.closeUnmatched(tx, unmatched);
    const disputed = asked.flatMap(({ after }) => after.attempts.filter((attempt) => isElsewhere(attempt, attempts)));
    const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent: by.traceparent } as const;
    await this.store.keepUnmatched(
      tx,
      disputed.map((attempt) => unmatchedFromAttempt(attempt, why)),
    );
  }

  /**
   * Returns the findings of the answered look-ups, by order, without payments that another order has confirmed or
   * registered, because a payment pays one order only. A person is told, and decides. One statement for all orders: what
   * the look-ups of one order confirm counts as confirmed for the orders after it, although it is not written yet.
   */
  async withoutTaken(
    due: readonly DueTimeout<AttemptFinding[]>[],
    { orders, now }: Pick<LockedBatch, 'orders' | 'now'>,
    tx: EntityManager,
  ): Promise<ReadonlyMap<string, readonly AttemptFinding[]>> {
    const answered = due.flatMap(({ key, answer, traceparent }) => {
      const order = orders.get(key);
      return order && answer ? [{ order, findings: answer, traceparent }] : [];
    });
    const money = answered.flatMap(({ findings }) => paymentsFound(findings));
    const { attempts } = money.length > 0 ? await this.store.samePayments(tx, money) : { attempts: [] };
    let known: readonly PaymentAttempt[] = attempts;
    const split = answered.map(({ order, findings, traceparent }) => {
      const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent } as const;
      const { left, taken } = splitTaken(order, findings, known);
      known = known.concat(withFindings(order, left).attempts.filter(isBooked));
      return {
        id: order.id,
        left,
        kept: taken.map((names) => ({ ...names, ...why, orderId: order.id, evidence: {} })),
      };
    });
    await this.store.keepUnmatched(
      tx,
      split.flatMap(({ kept }) => kept),
    );
    return new Map(split.map(({ id, left }) => [id, left]));
  }

  /** The payments that must not be refunded automatically, because another order also counts on them. */
  async disputed(tx: LockedContext['tx'], payments: readonly PaymentAttempt[]): Promise<readonly PaymentAttempt[]> {
    if (payments.length === 0) return [];
    const { attempts } = await this.store.samePayments(tx, payments);
    return payments.filter((payment) => isElsewhere(payment, attempts));
  }
}

/** Pure: tells the payments that `attempts` of other orders have from the findings that are left to this order. */
export function splitTaken(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  attempts: readonly PaymentAttempt[],
): { left: readonly AttemptFinding[]; taken: readonly Money[] } {
  const others = attempts.filter(
    (other) => other.orderId !== order.id && (other.registered || other.paidSource === 'provider'),
  );
  const holds = (other: PaymentAttempt, names: Money): boolean =>
    isSameAttempt(other, names) || (isBooked(other) && isSamePayment(other, names));
  const holderOf = (names: Money): PaymentAttempt | undefined => others.find((other) => holds(other, names));
  const isHere = (names: Money): boolean => bookMoney(order, names).wasBooked;
  const taken = paymentsFound(findings).filter((names) => holderOf(names) && !isHere(names));
  const left = findings.map((found) => {
    const names = taken.find((one) => isSameAttempt(one, found));
    return names ? { ...found, finding: takenBy(holderOf(names)) } : found;
  });
  return { left, taken };
}

function takenBy(holder: PaymentAttempt | undefined): Finding {
  const reason = `order ${holder?.orderId} has this payment as ${holder?.reference}`;
  return { type: 'UNKNOWN', reason, isKnownThere: true, needsPerson: true };
}

/** Pure: whether an order holds this payment that another order counts on, too. */
export function isElsewhere(payment: PaymentAttempt, attempts: readonly PaymentAttempt[]): boolean {
  if (payment.status !== 'PAID') return false;
  return attempts.some((other) => other.orderId !== payment.orderId && isSamePayment(other, payment));
}
