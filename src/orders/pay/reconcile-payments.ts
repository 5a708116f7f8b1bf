import { type EntityManager } from 'typeorm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
} from '../../timeouts';
import { present } from '../../errors';
import { type PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { busyOutcome } from '../busy-outcome';
import { type HandleUnmatched } from '../unmatched/handle-unmatched';
import { type MarkPaid } from './mark-paid';
import { type LockedOrder } from '../order';
import { type OrderStore } from '../sql/order-store';
import { PAYMENT_RECONCILIATION, OWN_LIMITS } from '../order-timeouts';
import { isBooked, isUnconfirmed, type PaymentAttempt } from '../payment-attempt';
import { type ReleaseClaims } from './release-claims';
import { paymentFound } from './reported-payment';
import { type ActionContext } from '../transition-cause';
import { waitForProviders } from '../lookup/wait-for-providers';

type Due = DueTimeout<AttemptFinding[]>;

interface Dependencies {
  readonly store: OrderStore;
  readonly providers: PaymentLookups;
  readonly markPaid: MarkPaid;
  readonly unmatched: HandleUnmatched;
  readonly claims: ReleaseClaims;
}

/**
 * Looks up the payments of one order and books the answers. It closes nothing. Used for notifications that report a
 * change without an amount, for reported payments before they are refunded, and for orders that lose a payment to
 * another order.
 */
@TimeoutHandler(PAYMENT_RECONCILIATION, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class ReconcilePayments implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(private readonly deps: Dependencies) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const ids = due.map((timeout) => timeout.key);
    const { orders, busy, now } = await this.deps.store.lock(tx, ids, 'skip-locked');
    const outcomes: TimeoutOutcome[] = [];
    for (const timeout of due) {
      const order = orders.get(timeout.key);
      if (!order) outcomes.push(busy.has(timeout.key) ? busyOutcome(timeout, now) : DONE);
      else outcomes.push(await this.settleOne(timeout, order, now, tx));
    }
    return outcomes;
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<AttemptFinding[]> {
    const { now, attempts } = await this.deps.store.attemptsOf(due.key, isWorthAsking);
    return this.deps.providers.query(attempts, now, signal);
  }

  private async settleOne(due: Due, locked: LockedOrder, now: Date, tx: EntityManager): Promise<TimeoutOutcome> {
    const by: ActionContext = { cause: due.cause, traceparent: due.traceparent };
    const order = await this.deps.claims.execute(locked, { tx, by, now });
    if (!due.answer) return order.attempts.some(isWorthAsking) ? LOOK_UP : DONE;
    for (const { finding, ...key } of due.answer) {
      if (finding.type !== 'PAID') continue;
      // Handled once, after all are booked, because each payment affects the value of the others.
      const how = { tx, account: key.merchantAccount, handlesUnmatchedLater: true };
      await this.deps.markPaid.confirm(paymentFound(order.id, key, finding), by, how);
    }
    const { orders } = await this.deps.store.lock(tx, [order.id], 'wait');
    const current = present(orders.get(order.id), `order ${order.id}, locked before`);
    const wait = waitForProviders(current, due.answer, now, now.getTime() - due.dueAt.getTime());
    await this.deps.unmatched.execute(current, { tx, by, now, verified: !wait, isAsking: true });
    return wait ? { type: 'retry', ...wait } : DONE;
  }
}

/** All attempts except confirmed payments and their other names. */
function isWorthAsking(attempt: PaymentAttempt): boolean {
  return isUnconfirmed(attempt) || !(isBooked(attempt) || attempt.status === 'DUPLICATE');
}
