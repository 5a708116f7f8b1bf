import { type AttemptFinding, type Finding } from '../lookup/attempt-finding';
import { bookMoney, type Money } from '../pay/book-money';
import { type LockedOrder } from '../order';
import { type OrderStore } from '../sql/order-store';
import { isSameAttempt, isSamePayment, type PaymentAttempt } from '../payment-attempt';
import { paymentsFound } from '../lookup/with-findings';
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
   * Returns the findings of an order without payments that another order has confirmed or registered, because a payment
   * pays one order only. A person is told, and decides.
   */
  async withoutTaken(
    order: LockedOrder,
    findings: readonly AttemptFinding[],
    { tx, by, now }: Context,
  ): Promise<AttemptFinding[]> {
    const money = paymentsFound(findings);
    if (money.length === 0) return [...findings];
    const { attempts } = await this.store.samePayments(tx, money);
    const others = attempts.filter(
      (other) => other.orderId !== order.id && (other.registered || other.paidSource === 'provider'),
    );
    const holderOf = (names: Money): PaymentAttempt | undefined => others.find((other) => isSamePayment(other, names));
    const isHere = (names: Money): boolean => bookMoney(order, names).wasBooked;
    const taken = money.filter((names) => holderOf(names) && !isHere(names));
    const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent: by.traceparent } as const;
    const kept = taken.map((names) => ({ ...names, ...why, orderId: order.id, evidence: {} }));
    await this.store.keepUnmatched(tx, kept);
    return findings.map((found) => {
      const names = taken.find((one) => isSameAttempt(one, found));
      return names ? { ...found, finding: takenBy(holderOf(names)) } : found;
    });
  }

  /** The payments that must not be refunded automatically, because another order also counts on them. */
  async disputed(tx: LockedContext['tx'], payments: readonly PaymentAttempt[]): Promise<readonly PaymentAttempt[]> {
    if (payments.length === 0) return [];
    const { attempts } = await this.store.samePayments(tx, payments);
    return payments.filter((payment) => isElsewhere(payment, attempts));
  }
}

function takenBy(holder: PaymentAttempt | undefined): Finding {
  const reason = `order ${holder?.orderId} has this payment as ${holder?.reference}`;
  return { type: 'UNKNOWN', reason, isKnownThere: true, needsPerson: true };
}

function isElsewhere(payment: PaymentAttempt, attempts: readonly PaymentAttempt[]): boolean {
  if (payment.status !== 'PAID') return false;
  return attempts.some((other) => other.orderId !== payment.orderId && isSamePayment(other, payment));
}
