import { type AttemptFinding, paymentsFound } from '../../src/orders/model/findings';
import {
  type LockedOrder,
  isUndecided,
  areTwoPayments,
  type AttemptKey,
  isBooked,
  isClaim,
  isSameAttempt,
  isSamePayment,
  isSameRow,
  type PaymentAttempt,
  type PaymentNames,
} from '../../src/orders/model/order';
import { paymentTimeout, reconcileTimeout } from '../../src/orders/model/order-timeouts';
import { type Booking, type Money, released, toldOfPaid } from '../../src/orders/model/money';
import { mayBeFor, unownedOf, neededPayments, type SamePayments } from '../../src/orders/model/decide-claim';
import {
  disputedOf,
  ended,
  isBesideSettled,
  isCertain,
  isElsewhere,
  isOnlyClaimed,
  reasonAgain,
  settledReports,
} from '../../src/orders/unmatched/note-unmatched-money';
import { isOpen } from '../../src/orders/unmatched/unmatched-payment';
import { HELD_MONEY_REASONS, unmatchedFromAttempt, type UnmatchedReason } from '../../src/orders/model/unmatched-money';
import { isHandled, isOthersToo, isSettledBefore, wasElsewhere, wasHadBy } from '../../src/orders/sql/handled-payments';
import { type UnmatchedRow } from './unmatched-table';
import { type World } from './world';

/** src/orders/unmatched/note-unmatched-money.ts, claim-payment.ts, release-claims.ts: payments that two orders have. */
export class Claims {
  constructor(private readonly world: World) {}

  /** Whether the order takes the payment, or had it before it was erased. */
  take(
    order: LockedOrder,
    money: Money,
    booking: Booking,
    same: SamePayments,
    keep: (reason: 'attempt-mismatch' | 'unknown-order') => void,
  ): 'ours' | 'settled' | 'refused' | 'repeated' {
    const { store, wiring } = this.world;
    const isKnown = !booking.wasBooked && isHandled(same.handled, money);
    if (isKnown && order.isErased && wasHadBy(order.id, same.handled, money)) return 'repeated';
    const isSettled = wiring.booksSettled && isKnown && isSettledBefore(same.handled, money);
    if (isKnown && !isSettled) return 'refused';
    const decision = wiring.decideClaim(order, money, same, booking.wasBooked);
    if (decision === 'refused') return 'refused';
    if (money.source === 'provider' && !isSettled) store.closeUnmatched(unownedOf(money, same), order.id);
    if (decision === 'outranks' && money.isAssigned) {
      this.contest(same.attempts.filter((one) => one.orderId !== order.id && isBooked(one)));
    } else if (isOthersToo(decision, booking, same.handled, isSettled)) keep('attempt-mismatch');
    this.tellOfSettled(order, booking.after);
    if (!isSettled) return 'ours';
    keep('unknown-order');
    return 'settled';
  }

  /** Tells a person of what was settled as a mere report, and what its provider has confirmed now. */
  private tellOfSettled(before: LockedOrder, after: LockedOrder): void {
    const { store, agenda, wiring } = this.world;
    for (const { attempt, report } of wiring.tellsOfSettled ? settledReports(before, after) : []) {
      const rows = store.unmatched.all().filter((row) => isSameRow(row, report) && row.handling === 'settled');
      const { reason: settled = 'attempt-mismatch' } = rows.findLast((row) => row.reason !== 'attempt-mismatch') ?? {};
      const reason = reasonAgain(after, attempt, settled);
      const why = { reason, handling: 'kept', now: agenda.now, traceparent: undefined } as const;
      store.keepUnmatched([unmatchedFromAttempt(attempt, why)]);
    }
  }

  /** Ends the claims of other orders to the payments that pay this order. */
  outrank(order: LockedOrder): void {
    const { store } = this.world;
    const payments = neededPayments(order).filter(isCertain);
    if (order.status !== 'PAID' || payments.length === 0) return;
    const found = payments.map((payment) => store.samePayments(payment));
    const known = found.flatMap(({ attempts }) => attempts);
    const handled = found.flatMap((one) => one.handled);
    this.contest(known.filter((one) => isClaim(one) && payments.some((payment) => isElsewhere(payment, [one]))));
    const isAlone = (one: PaymentAttempt): boolean => !wasElsewhere(handled, { ...one, source: 'provider' });
    const own = payments.filter((payment) => isOnlyClaimed(payment, known) && isAlone(payment));
    for (const { orderId, paidAmount, paidCurrency, ...key } of own) {
      const isAnswered = (row: UnmatchedRow): boolean =>
        isClaimOf(row, orderId, key) &&
        isOpen(row) &&
        BigInt(row.amount) === paidAmount &&
        row.currency === paidCurrency;
      store.unmatched.handle(isAnswered, 'adopted');
    }
  }

  /** Tells a person that other orders lose these payments, which they do in their own transactions. */
  contest(claims: readonly PaymentAttempt[]): void {
    const { store, engine, agenda } = this.world;
    const why = { reason: 'attempt-mismatch', handling: 'kept', now: agenda.now, traceparent: undefined } as const;
    for (const claim of claims) {
      store.unmatched.handle((row) => isClaimOf(row, claim.orderId, claim) && !isOpen(row), 'waiting');
      store.keepUnmatched([unmatchedFromAttempt(claim, why)]);
      engine.schedule(reconcileTimeout(claim.orderId), agenda.now);
    }
  }

  /** src/orders/pay/reconcile-payments.ts. */
  release(orderId: string, watch: (orderId: string) => void): void {
    const { store, engine, agenda, trace } = this.world;
    const order = store.lock(orderId);
    const isLost = (claim: PaymentAttempt): boolean => this.isContested(claim) && this.isHeldElsewhere(claim);
    const lost = order.attempts.filter((attempt) => isClaim(attempt) && isLost(attempt));
    if (lost.length === 0) return;
    trace.note(() => `${orderId} loses ${lost.map(({ reference }) => reference).join(', ')} to another order`);
    for (const claim of lost) store.putAttempt(released(order.status, claim));
    store.amend(orderId, {});
    this.closeOutdated(orderId);
    if (isUndecided(order.status)) engine.schedule(paymentTimeout(orderId), agenda.now);
    else watch(orderId);
  }

  /** Closes what told a person of the payments of a PAID order, and is not so anymore. */
  closeOutdated(orderId: string): void {
    const { store } = this.world;
    const order = store.lock(orderId);
    const told = order.status === 'PAID' ? toldOfPaid(order) : [];
    const isHeld = ({ reason }: UnmatchedRow): boolean => HELD_MONEY_REASONS.some((one) => one === reason);
    const isOutdated = (row: UnmatchedRow): boolean =>
      told.some(({ attempt, still }) => isSameRow(attempt, row) && !still.includes(row.reason));
    store.unmatched.handle(
      (row) => row.orderId === orderId && isOpen(row) && isHeld(row) && isOutdated(row),
      'adopted',
    );
  }

  /** The findings without payments that another order has. */
  withoutTaken(order: LockedOrder, findings: readonly AttemptFinding[]): readonly AttemptFinding[] {
    const { store, agenda, wiring } = this.world;
    const money = paymentsFound(findings);
    if (money.length === 0) return findings;
    const found = money.map((one) => store.samePayments(one));
    const { left, taken, settled, disputed, anyones } = wiring.splitTaken(order, findings, {
      attempts: found.flatMap(({ attempts }) => attempts),
      unowned: found.flatMap(({ unowned }) => unowned),
      handled: found.flatMap(({ handled }) => handled),
    });
    const why = { orderId: order.id, handling: 'kept', evidence: {}, now: agenda.now } as const;
    store.keepUnmatched([...taken, ...disputed].map((names) => ({ ...names, ...why, reason: 'attempt-mismatch' })));
    store.keepUnmatched(settled.map((names) => ({ ...names, ...why, reason: 'unknown-order' })));
    store.keepUnmatched(anyones.map((names) => ({ ...names, ...why, orderId: null, reason: 'unknown-order' })));
    const isSettledAs = (one: Money) => (row: UnmatchedRow) =>
      isClaimOf(row, order.id, one) &&
      row.handling === 'settled' &&
      row.transactionId === one.transactionId &&
      BigInt(row.amount) === one.amount;
    const areSettled = taken.length > 0 && taken.every((one) => store.unmatched.all().some(isSettledAs(one)));
    return areSettled ? left.map(ended) : left;
  }

  /** Closes unmatched money that was found, and tells a person of what another order counts on, too. */
  noteFound(before: LockedOrder, after: LockedOrder, findings: readonly AttemptFinding[]): void {
    const { store, agenda } = this.world;
    const money = paymentsFound(findings);
    if (money.length === 0) return;
    const found = money.map((names) => store.samePayments(names));
    const settled = after.attempts.filter(({ status }) => status === 'SETTLED');
    const isNeeded = (one: PaymentNames): boolean =>
      !settled.some((attempt) => isSamePayment(attempt, one) && !areTwoPayments(attempt, one));
    for (const [index, { unowned }] of found.entries()) {
      const names = money[index];
      if (names) store.closeUnmatched(unownedOf(names, { unowned }).filter(isNeeded), after.id);
    }
    this.tellOfSettled(before, after);
    const known = found.flatMap(({ attempts }) => attempts);
    const wasOfOther = (one: Money, index: number): boolean => wasElsewhere(found[index]?.handled ?? [], one);
    const contested = money.filter((one, index) => wasOfOther(one, index) || isBesideSettled(after, one));
    const disputed = disputedOf(after, known, contested);
    const why = { reason: 'attempt-mismatch', handling: 'kept', now: agenda.now, traceparent: undefined } as const;
    store.keepUnmatched(disputed.map((attempt) => unmatchedFromAttempt(attempt, why)));
  }

  /** Those that another order counts on as well. */
  disputed(attempts: readonly PaymentAttempt[]): readonly PaymentAttempt[] {
    return attempts.filter((attempt) => isElsewhere(attempt, this.world.store.samePayments(attempt).attempts));
  }

  /** Confirmed money that no order has booked, and that names this order or one of its attempts. */
  confirmedOf(order: LockedOrder): readonly AttemptKey[] {
    const isWaiting = ({ source, reason }: UnmatchedRow): boolean => source === 'provider' && WAITING.includes(reason);
    const isIts = (row: UnmatchedRow): boolean =>
      [null, row.reference].some((attempt) => {
        const orderId = attempt === null ? (row.orderId ?? '') : order.id;
        return mayBeFor(order, { ...row, orderId, attempt });
      });
    return this.world.store.unmatched.open().filter((row) => isWaiting(row) && isIts(row));
  }

  private isContested(claim: PaymentAttempt): boolean {
    const rows = this.world.store.unmatched.all();
    const isLeft = ({ handling }: UnmatchedRow): boolean => handling === 'kept' || handling === 'settled';
    return rows.some((row) => isClaimOf(row, claim.orderId, claim) && isLeft(row));
  }

  private isHeldElsewhere(claim: PaymentAttempt): boolean {
    const holders = this.world.store.bookedElsewhere(claim.orderId, claim);
    return holders.some((one) => one.registered && isBooked(one) && isSamePayment(one, claim));
  }
}

/** As in src/orders/sql/attempts.ts. */
const WAITING: readonly UnmatchedReason[] = ['unknown-order', 'attempt-mismatch', 'invalid-amount'];

function isClaimOf(row: UnmatchedRow, orderId: string, key: AttemptKey): boolean {
  return row.reason === 'attempt-mismatch' && row.orderId === orderId && isSameAttempt(row, key);
}
