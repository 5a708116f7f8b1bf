import { type EntityManager } from 'typeorm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  type TimeoutScheduler,
} from '../../timeouts';
import { present } from '../../errors';
import { type PaymentLookups } from '../lookup/payment-lookups';
import { type AttemptFinding } from '../lookup/attempt-finding';
import { busyOutcome } from '../busy-outcome';
import { type HandleUnmatched } from '../unmatched/handle-unmatched';
import { type MarkPaid } from './mark-paid';
import { isPaidByReports } from './money-received';
import { type LockedOrder, type Order } from '../order';
import { type OrderStore } from '../sql/order-store';
import { allTimeouts, PAYMENT_RECONCILIATION, OWN_LIMITS } from '../order-timeouts';
import { accountOfAttempt, isBooked, isSettledReport, isUnconfirmed, type PaymentAttempt } from '../payment-attempt';
import { type ReleaseClaims } from './release-claims';
import { paymentFound } from './reported-payment';
import { type ActionContext } from '../transition-cause';
import { waitForProviders } from '../lookup/wait-for-providers';

type Due = DueTimeout<AttemptFinding[]>;

const CLOSE_REPORTED: TimeoutOutcome = {
  type: 'retry',
  counted: false,
  afterMs: 0,
  reason: 'reported attempts are open',
};

interface Dependencies {
  readonly store: OrderStore;
  readonly providers: PaymentLookups;
  readonly markPaid: MarkPaid;
  readonly unmatched: HandleUnmatched;
  readonly claims: ReleaseClaims;
  readonly scheduler: Pick<TimeoutScheduler, 'lock'>;
}

/**
 * Looks up the payments of one order and books the answers. Used for notifications that report a change without an
 * amount, for reported payments before they are refunded, and for orders that lose a payment to another order. It closes
 * only attempts that were reported as paid by mistake.
 */
@TimeoutHandler(PAYMENT_RECONCILIATION, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class ReconcilePayments implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(private readonly deps: Dependencies) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const ids = due.map((timeout) => timeout.key);
    const { orders, busy, now } = await this.deps.store.lock(tx, ids, 'skip-locked');
    await this.lockInOrder(due, orders, tx);
    const outcomes: TimeoutOutcome[] = [];
    for (const timeout of due) {
      const order = orders.get(timeout.key);
      if (!order) outcomes.push(busy.has(timeout.key) ? busyOutcome(timeout, now) : DONE);
      else outcomes.push(await this.settleOne(timeout, order, now, tx));
    }
    return outcomes;
  }

  async lookUp(due: DueTimeout, signal: AbortSignal): Promise<AttemptFinding[]> {
    const { now, attempts } = await this.deps.store.attemptsOf(due.key, () => true);
    const asked = attempts.filter(isWorthAsking);
    return this.deps.providers.query(asked, now, signal, await this.unneededOf(due.key, attempts));
  }

  private async unneededOf(orderId: string, attempts: readonly PaymentAttempt[]): Promise<readonly PaymentAttempt[]> {
    const order = attempts.some(isUnconfirmed) ? await this.deps.store.read(orderId) : undefined;
    return order ? unneededReports(order, attempts) : [];
  }

  /**
   * Each order is paid by itself, which locks its timeouts and its stock. Two batches must not lock those of their orders
   * in different orders.
   */
  private async lockInOrder(
    due: readonly Due[],
    orders: ReadonlyMap<string, LockedOrder>,
    tx: EntityManager,
  ): Promise<void> {
    const paid = due.filter(({ answer }) => answer?.some(({ finding }) => finding.type === 'PAID'));
    const affected = paid.flatMap(({ key }) => orders.get(key) ?? []);
    if (affected.length < 2) return;
    await this.deps.scheduler.lock(tx, affected.flatMap(allTimeouts));
    await this.deps.store.lockStock(
      tx,
      affected.map(({ id }) => id),
    );
  }

  private async settleOne(due: Due, locked: LockedOrder, now: Date, tx: EntityManager): Promise<TimeoutOutcome> {
    const by: ActionContext = { cause: due.cause, traceparent: due.traceparent };
    const order = await this.deps.claims.execute(locked, { tx, by, now });
    if (!due.answer) return order.attempts.some(isWorthAsking) ? LOOK_UP : DONE;
    for (const { finding, ...key } of due.answer) {
      if (finding.type !== 'PAID') continue;
      // Handled once, after all are booked, because each payment affects the value of the others.
      const how = { tx, account: accountOfAttempt(key), handlesUnmatchedLater: true };
      await this.deps.markPaid.confirm(paymentFound(order.id, key, finding), by, how);
    }
    const { orders } = await this.deps.store.lock(tx, [order.id], 'wait');
    const current = present(orders.get(order.id), `order ${order.id}, locked before`);
    const wait = waitForProviders(current, due.answer, now, due);
    await this.deps.unmatched.execute(current, { tx, by, now, verified: !wait, isAsking: true });
    if (wait) return { type: 'retry', ...wait };
    // What it has confirmed now may have made reports unneeded, which it has only looked up.
    const isNews = current.attempts.filter(isUnconfirmed).length < order.attempts.filter(isUnconfirmed).length;
    return isNews && unneededReports(current, current.attempts).length > 0 ? CLOSE_REPORTED : DONE;
  }
}

/** Pure: reported payments of a paid order that it does not need. If the report is wrong, the buyer could pay again. */
function unneededReports(order: Order, attempts: readonly PaymentAttempt[]): readonly PaymentAttempt[] {
  if (order.status !== 'PAID' || isPaidByReports(order, attempts)) return [];
  return attempts.filter((attempt) => attempt.registered && isUnconfirmed(attempt));
}

/** All attempts except confirmed payments and their other names. What a person has settled may be a mere report. */
export function isWorthAsking(attempt: PaymentAttempt): boolean {
  return isUnconfirmed(attempt) || isSettledReport(attempt) || !(isBooked(attempt) || attempt.status === 'DUPLICATE');
}
