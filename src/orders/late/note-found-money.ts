import { type AttemptFinding } from '../attempt-finding';
import { type LockedOrder } from '../order';
import { type OrderStore } from '../order-store';
import { isSamePayment, type PaymentAttempt } from '../payment-attempt';
import { moneyFound } from '../with-findings';
import { type LateContext } from './late-context';
import { strayMoney } from './stray-money';

/** An order, and what its providers have just said. */
export interface AskedOrder {
  /** With its attempts as they are after the findings. */
  readonly after: LockedOrder;
  readonly findings: readonly AttemptFinding[];
}

type Context = Pick<LateContext, 'tx' | 'by' | 'now'>;

/** Compares payments that providers told of with everything else that is known under their names. */
export class NoteFoundMoney {
  constructor(private readonly store: OrderStore) {}

  /** Ends unmatched money that is one of these payments, and tells a person of those that another order counts on, too. */
  async execute(asked: readonly AskedOrder[], { tx, by, now }: Context): Promise<void> {
    const money = asked.flatMap(({ findings }) => moneyFound(findings));
    if (money.length === 0) return;
    const { attempts, unmatched } = await this.store.samePayments(tx, money);
    await this.store.closeUnmatched(tx, unmatched);
    const disputed = asked.flatMap(({ after }) => after.attempts.filter((attempt) => isElsewhere(attempt, attempts)));
    const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent: by.traceparent } as const;
    await this.store.keepUnexpected(
      tx,
      disputed.map((attempt) => strayMoney(attempt, why)),
    );
  }

  /** Those of these payments that must not go back by themselves, as another order counts on them as well. */
  async disputed(tx: LateContext['tx'], payments: readonly PaymentAttempt[]): Promise<readonly PaymentAttempt[]> {
    if (payments.length === 0) return [];
    const { attempts } = await this.store.samePayments(tx, payments);
    return payments.filter((payment) => isElsewhere(payment, attempts));
  }
}

function isElsewhere(payment: PaymentAttempt, attempts: readonly PaymentAttempt[]): boolean {
  if (payment.status !== 'PAID') return false;
  return attempts.some((other) => other.orderId !== payment.orderId && isSamePayment(other, payment));
}
