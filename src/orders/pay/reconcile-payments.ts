import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import {
  LOOK_UP,
  DONE,
  type DueTimeout,
  TimeoutHandler,
  type TimeoutHandlerBatch,
  type TimeoutOutcome,
  TimeoutScheduler,
} from '../../timeouts';
import { present } from '../../errors';
import { PaymentLookups } from '../lookup/payment-lookups';
import { neededPayments } from '../model/decide-claim';
import { type AttemptFinding, mayBeFollowed, waitForOthers, waitForProviders } from '../model/findings';
import { busyOutcome, allTimeouts, OWN_LIMITS, PAYMENT_RECONCILIATION } from '../model/order-timeouts';
import { HandleUnmatched } from '../unmatched/handle-unmatched';
import {
  type LockedOrder,
  type Order,
  accountOfAttempt,
  isBooked,
  isSettledReport,
  isUnconfirmed,
  type PaymentAttempt,
  isUndecided,
  isClaim,
  isSameAttempt,
  isSamePayment,
  isSameRow,
  type OrderView,
  canTakeMoney,
} from '../model/order';
import { OrderStore } from '../sql/order-store';
import { type ActionContext, causeOf, type LookUpOptions, contextOf } from '../model/transition';
import { type LockedContext, type UnmatchedMoney, unmatchedFromAttempt } from '../model/unmatched-money';
import { PaymentWatch } from '../unmatched/payment-watch';
import { OrderTransaction } from '../sql/order-transaction';
import { ReadOrder } from '../read/read-orders';
import { MarkPaid } from './mark-paid';
import { isPaidByReports, released } from '../model/money';
import { paymentFound } from '../model/reported-payment';

type Due = DueTimeout<AttemptFinding[]>;

const CLOSE_REPORTED: TimeoutOutcome = {
  type: 'retry',
  counted: false,
  afterMs: 0,
  reason: 'reported attempts are open',
};

/** Pure: reported payments of a paid order that it does not need. If the report is wrong, the buyer could pay again. */
function unneededReports(order: Order, attempts: readonly PaymentAttempt[]): readonly PaymentAttempt[] {
  if (order.status !== 'PAID' || isPaidByReports(order, attempts)) return [];
  return attempts.filter((attempt) => attempt.registered && isUnconfirmed(attempt));
}

/**
 * Pure: the reported payments that the order is PAID by and that the provider denies, for a person: its goods may not have
 * been shipped yet. Of a reference that nobody registered, the provider may know the payment by another one.
 */
function deniedReports(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  when: Pick<UnmatchedMoney, 'now' | 'traceparent'>,
): UnmatchedMoney[] {
  if (!isPaidByReports(order, order.attempts)) return [];
  const needed = neededPayments(order).filter((attempt) => attempt.registered && isUnconfirmed(attempt));
  return findings.flatMap((found) => {
    const attempt = needed.find((one) => isSameRow(one, found));
    if (!attempt || found.finding.type !== 'UNCONFIRMED') return [];
    const money = unmatchedFromAttempt(attempt, { reason: 'attempt-mismatch', handling: 'kept', ...when });
    return [{ ...money, evidence: { reason: found.finding.reason } }];
  });
}

/**
 * Pure: whether a look-up asks about the attempt. What a person has settled may be a mere report, and a confirmed payment
 * may be followed by another. The other names of a payment bring nothing new.
 */
export function isWorthAsking(attempt: PaymentAttempt): boolean {
  if (isUnconfirmed(attempt) || isSettledReport(attempt)) return true;
  return isBooked(attempt) ? mayBeFollowed(attempt) : attempt.status !== 'DUPLICATE';
}

const REASON = 'payment of another order';

/** Takes payments from an order that only a report had linked to it, after another order got them. */
@Injectable()
export class ReleaseClaims {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly watch: PaymentWatch,
  ) {}

  /**
   * Returns the order after that. Its own attempts may take money again, so they are closed at their providers: at the
   * deadline, or by the payment watch of an order that has ended. An order that is PAID stays PAID; a person was told.
   */
  async execute(order: LockedOrder, { tx, by, now }: LockedContext): Promise<LockedOrder> {
    const { lost, holders } = await this.lostBy(order, tx);
    if (lost.length === 0) return order;
    const { store } = this.transaction;
    const attempts = order.attempts.map((one) => (lost.includes(one) ? released(order.status, one) : one));
    const changed = attempts.filter((one) => !order.attempts.includes(one));
    const evidence = { lost: lost.map(({ provider, reference }) => ({ provider, reference })) };
    const writes = changed.map((attempt) => ({ attempt, evidence: { reason: REASON } }));
    await store.writeAttempts(tx, writes);
    const after = {
      ...order,
      ...(await this.transaction.amend(tx, order, {}, { by, reason: REASON, evidence })),
      attempts,
    };
    // The claim may have kept the others from returning a part of their price.
    const decidesAnew = isUndecided(order.status) ? [order.id, ...holders] : holders;
    await store.decideNow(tx, ...decidesAnew);
    if (!isUndecided(order.status)) await this.watch.begin(tx, [after], now, by.traceparent);
    return after;
  }

  /** `holders`: the orders that have these payments. */
  private async lostBy(
    order: LockedOrder,
    tx: EntityManager,
  ): Promise<{ lost: readonly PaymentAttempt[]; holders: readonly string[] }> {
    const none = { lost: [], holders: [] };
    const claims = order.attempts.filter(isClaim);
    if (claims.length === 0) return none;
    const contested = await this.transaction.store.contested.lostBy(tx, order.id);
    const named = claims.filter((claim) => contested.some((key) => isSameAttempt(key, claim)));
    if (named.length === 0) return none;
    const { attempts } = await this.transaction.store.samePayments(tx, named);
    const holders = attempts.filter((one) => one.orderId !== order.id && one.registered && isBooked(one));
    const lost = named.filter((claim) => holders.some((holder) => isSamePayment(holder, claim)));
    return { lost, holders: [...new Set(holders.map(({ orderId }) => orderId))] };
  }
}

/**
 * Looks up the payments of one order and books the answers. Used for notifications that report a change without an
 * amount, for reported payments before they are refunded, and for orders that lose a payment to another order. It closes
 * only attempts that were reported as paid by mistake.
 */
@TimeoutHandler(PAYMENT_RECONCILIATION, { lookUpConcurrency: 8, concurrency: 1, ...OWN_LIMITS })
export class ReconcilePayments implements TimeoutHandlerBatch<AttemptFinding[]> {
  constructor(
    private readonly store: OrderStore,
    private readonly lookups: PaymentLookups,
    private readonly markPaid: MarkPaid,
    private readonly unmatched: HandleUnmatched,
    private readonly claims: ReleaseClaims,
    private readonly scheduler: TimeoutScheduler,
  ) {}

  async handleBatch(due: readonly Due[], tx: EntityManager): Promise<TimeoutOutcome[]> {
    const ids = due.map((timeout) => timeout.key);
    const { orders, busy, now } = await this.store.lock(tx, ids, 'skip-locked');
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
    const { now, attempts } = await this.store.attemptsOf(due.key, () => true);
    const asked = attempts.filter(isWorthAsking);
    return this.lookups.query(asked, now, signal, await this.unneededOf(due.key, attempts));
  }

  private async unneededOf(orderId: string, attempts: readonly PaymentAttempt[]): Promise<readonly PaymentAttempt[]> {
    const order = attempts.some(isUnconfirmed) ? await this.store.read(orderId) : undefined;
    return order ? unneededReports(order, attempts) : [];
  }

  /** Each order is paid by itself. Two batches must not lock timeouts and stock of their orders in two orders. */
  private async lockInOrder(
    due: readonly Due[],
    orders: ReadonlyMap<string, LockedOrder>,
    tx: EntityManager,
  ): Promise<void> {
    const paid = due.filter(({ answer }) => answer?.some(({ finding }) => finding.type === 'PAID'));
    const affected = paid.flatMap(({ key }) => orders.get(key) ?? []);
    if (affected.length < 2) return;
    await this.scheduler.lock(tx, affected.flatMap(allTimeouts));
    const ids = affected.map(({ id }) => id);
    await this.store.inventory.lockAll(tx, ids);
  }

  private async settleOne(due: Due, locked: LockedOrder, now: Date, tx: EntityManager): Promise<TimeoutOutcome> {
    const by = causeOf(due);
    const order = await this.claims.execute(locked, { tx, by, now });
    if (!due.answer) {
      // What is left of its money may be needed now, or too little.
      if (order !== locked) await this.unmatched.execute(order, { tx, by, now, isAsking: true });
      return order.attempts.some(isWorthAsking) ? LOOK_UP : DONE;
    }
    for (const { finding, ...key } of due.answer) {
      if (finding.type !== 'PAID') continue;
      // Handled once, after all are booked, because each payment affects the value of the others.
      const how = { tx, account: accountOfAttempt(key), handlesUnmatchedLater: true };
      await this.markPaid.confirm(paymentFound(order.id, key, finding), by, how);
    }
    const { orders } = await this.store.lock(tx, [order.id], 'wait');
    const current = present(orders.get(order.id), `order ${order.id}, locked before`);
    const wait = waitForProviders(current, due.answer, now, due);
    await this.unmatched.execute(current, { tx, by, now, verified: !wait, isAsking: true });
    if (wait) return { type: 'retry', ...wait };
    await this.store.keepUnmatched(tx, deniedReports(current, due.answer, { now, traceparent: by.traceparent }));
    // What it has confirmed now may have made reports unneeded, which it has only looked up.
    const isNews = current.attempts.filter(isUnconfirmed).length < order.attempts.filter(isUnconfirmed).length;
    if (isNews && unneededReports(current, current.attempts).length > 0) return CLOSE_REPORTED;
    const others = waitForOthers(current, due.answer, now, due);
    return others ? { type: 'retry', ...others } : DONE;
  }
}

/** One provider time-out (5 s) and a reserve, because a person waits for this response. */
const PATIENCE_MS = 8_000;

/** `PROVIDER_NOT_CONFIGURED`: an open attempt could not be looked up. The answers about the others are booked. */
export type CheckPaymentResult =
  | { readonly outcome: 'checked'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: 'ORDER_NOT_FOUND' }
  | { readonly outcome: 'rejected'; readonly code: 'PROVIDER_NOT_CONFIGURED'; readonly provider: string };

/**
 * Looks up the open attempts of an order before its deadline, for the page that the buyer returns to. It closes
 * nothing. An overdue order is woken and closes in the usual way.
 */
@Injectable()
export class CheckPayment {
  constructor(
    private readonly store: OrderStore,
    private readonly lookups: PaymentLookups,
    private readonly markPaid: MarkPaid,
    private readonly readOrder: ReadOrder,
  ) {}

  async execute(
    orderId: string,
    { by, signal = AbortSignal.timeout(PATIENCE_MS) }: LookUpOptions = {},
  ): Promise<CheckPaymentResult> {
    const { now, attempts } = await this.store.attemptsOf(orderId, canTakeMoney);
    const findings = await this.lookups.query(attempts, now, signal);
    for (const found of findings) await this.book(orderId, found, contextOf(by));
    const order = await this.readOrder.execute(orderId);
    if (!order) return { outcome: 'rejected', code: 'ORDER_NOT_FOUND' };
    const unasked = findings.find(({ finding }) => finding.type === 'NO_PROVIDER');
    if (!unasked || order.status === 'PAID') return { outcome: 'checked', order };
    return { outcome: 'rejected', code: 'PROVIDER_NOT_CONFIGURED', provider: unasked.provider };
  }

  private async book(orderId: string, { finding, ...key }: AttemptFinding, by: ActionContext): Promise<void> {
    if (finding.type === 'PAID') {
      const account = accountOfAttempt(key);
      await this.markPaid.confirm(paymentFound(orderId, key, finding), by, { account });
    }
  }
}
