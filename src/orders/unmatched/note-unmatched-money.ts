import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { type DueTimeout, TimeoutScheduler } from '../../timeouts';
import { type AttemptFinding, type Finding, paymentsFound, withFindings } from '../model/findings';
import { type Booking, bookMoney, type Money, moneyReceived } from '../model/money';
import {
  decideClaim,
  isAnyones,
  isPaidBy,
  neededPayments,
  namesOfMoney,
  unownedOf,
  type SamePayments,
} from '../model/decide-claim';
import {
  type LockedOrder,
  areTwoPayments,
  isBooked,
  isClaim,
  isSameAttempt,
  isSamePayment,
  isSameRow,
  type PaymentAttempt,
  type PaymentNames,
} from '../model/order';
import { reconcileTimeout } from '../model/order-timeouts';
import { type LockedBatch } from '../sql/lock-orders';
import { isHandled, isSettledBefore, wasElsewhere } from '../sql/handled-payments';
import { OrderStore } from '../sql/order-store';
import {
  type LockedContext,
  unmatchedFromAttempt,
  type UnmatchedReason,
  WHOLE_PAYMENT_REASONS,
} from '../model/unmatched-money';

export interface AskedOrder {
  readonly after: LockedOrder;
  readonly findings: readonly AttemptFinding[];
}

type Context = Pick<LockedContext, 'tx' | 'by' | 'now'>;

/** Compares payments that providers confirmed with everything else that is known under their names. */
@Injectable()
export class NoteUnmatchedMoney {
  constructor(
    private readonly store: OrderStore,
    private readonly scheduler: TimeoutScheduler,
  ) {}

  /**
   * Closes unmatched money that is one of these payments, and reports payments that another order also counts on to a
   * person. An order is compared with those before it as they are written, and with those after it as they were, as if
   * each had a transaction of its own.
   *
   * @param before the orders before the findings.
   */
  async execute(
    asked: readonly AskedOrder[],
    before: ReadonlyMap<string, LockedOrder>,
    { tx, by, now }: Context,
  ): Promise<void> {
    const money = asked.flatMap(({ findings }) => paymentsFound(findings));
    if (money.length === 0) return;
    const { attempts, unowned, handled } = await this.store.samePayments(tx, money);
    const settled = asked.flatMap(({ after }) => after.attempts.filter(({ status }) => status === 'SETTLED'));
    // What an order has as settled stays shown to a person.
    const isNeeded = (one: PaymentNames): boolean =>
      !settled.some((attempt) => isSamePayment(attempt, one) && !areTwoPayments(attempt, one));
    const told = money.flatMap((one) => unownedOf(one, { unowned }));
    const isHeld = (one: PaymentAttempt): boolean => isBooked(one) && told.some((names) => isSamePayment(one, names));
    const holders = asked.filter(({ after }) => after.attempts.some(isHeld)).map(({ after }) => after.id);
    await this.store.closeUnmatched(tx, told.filter(isNeeded), holders);
    for (const { after } of asked) await this.tellOfSettled(before.get(after.id), after, { tx, by, now });
    const turns = new Map(asked.map(({ after }, turn) => [after.id, turn]));
    const unchanged = asked.flatMap(({ after }) => before.get(after.id)?.attempts ?? []);
    const disputed = asked.flatMap(({ after, findings }, turn) => {
      const found = paymentsFound(findings);
      const isLater = ({ orderId }: PaymentAttempt): boolean => (turns.get(orderId) ?? 0) > turn;
      const others = [...attempts.filter((one) => !isLater(one)), ...unchanged.filter(isLater)];
      const holders = others.filter((other) => found.some((one) => holds(other, one)));
      const contested = found.filter((one) => wasElsewhere(handled, one) || isBesideSettled(after, one));
      return disputedOf(after, holders, contested);
    });
    const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent: by.traceparent } as const;
    const kept = disputed.map((attempt) => unmatchedFromAttempt(attempt, why));
    await this.store.keepUnmatched(tx, kept);
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
    const money = answered.flatMap(({ order, findings }) =>
      paymentsFound(findings).flatMap((told) => namesOfMoney(told, bookMoney(order, told).money)),
    );
    const same = money.length > 0 ? await this.store.samePaymentsLocked(tx, money) : NOTHING_KNOWN;
    let known: SamePayments = same;
    const split = answered.map(({ order, findings, traceparent }) => {
      const { left, taken, settled, disputed, anyones } = splitTaken(order, findings, known);
      const booked = withFindings(order, left).attempts.filter(isBooked);
      known = { ...known, attempts: known.attempts.concat(booked) };
      const why = { orderId: order.id, handling: 'kept', evidence: {}, now, traceparent } as const;
      return {
        id: order.id,
        left,
        claims: taken.map((names) => ({ ...names, orderId: order.id })),
        kept: [
          ...[...taken, ...disputed].map(({ secondOf, ...names }) => ({
            ...names,
            ...why,
            reason: 'attempt-mismatch' as const,
            evidence: secondOf === undefined ? {} : { reference: secondOf },
          })),
          // Told again only if what was settled was another amount, or a mere report.
          ...settled.map((names) => ({ ...names, ...why, reason: 'unknown-order' as const })),
          ...anyones.map((names) => ({ ...names, ...why, orderId: null, reason: 'unknown-order' as const })),
        ],
      };
    });
    const kept = split.flatMap((one) => one.kept);
    await this.store.keepUnmatched(tx, kept);
    const claims = split.flatMap((one) => one.claims);
    const settled = await this.store.contested.settledClaims(tx, claims);
    return new Map(split.map(({ id, left }) => [id, settled.has(id) ? left.map(ended) : left]));
  }

  /** Ends claims of others to payments that the provider has confirmed for attempts of this order. Idempotent. */
  async outrank(order: LockedOrder, context: Context): Promise<void> {
    const payments = neededPayments(order).filter(isCertain);
    if (order.status !== 'PAID' || payments.length === 0) return;
    const { attempts, handled } = await this.store.samePayments(context.tx, payments);
    const claims = attempts.filter((one) => isClaim(one) && payments.some((payment) => isElsewhere(payment, [one])));
    await this.contest(claims, context);
    // What another order has for certain, too, or had before it was erased or purged, stays shown to a person.
    const isAlone = (one: PaymentAttempt): boolean => !wasElsewhere(handled, { ...one, source: 'provider' });
    const own = payments.filter((payment) => isOnlyClaimed(payment, attempts) && isAlone(payment));
    await this.store.contested.close(context.tx, own);
  }

  /** Tells a person that other orders lose these payments. They lose them under their own locks, at once. */
  async contest(claims: readonly PaymentAttempt[], { tx, by, now }: Context): Promise<void> {
    if (claims.length === 0) return;
    const why = { reason: 'attempt-mismatch', handling: 'kept', now, traceparent: by.traceparent } as const;
    await this.store.contested.reopen(tx, claims);
    const lost = claims.map((claim) => unmatchedFromAttempt(claim, why));
    await this.store.keepUnmatched(tx, lost);
    const losers = [...new Set(claims.map(({ orderId }) => orderId))];
    const checks = losers.map((id) => ({ ...reconcileTimeout(id), afterMs: 0 }));
    await this.scheduler.schedule(checks, { tx });
  }

  /**
   * Tells a person that the provider has confirmed payments which a person had settled as mere reports. They still count
   * as no money.
   *
   * @param before the order before the payments were booked. Undefined: it was not there.
   */
  async tellOfSettled(before: LockedOrder | undefined, after: LockedOrder, { tx, by, now }: Context): Promise<void> {
    for (const { attempt, report } of settledReports(before, after)) {
      const settled = (await this.store.contested.settledReason(tx, report)) ?? 'attempt-mismatch';
      const reason = reasonAgain(after, attempt, settled);
      const why = { reason, handling: 'kept', now, traceparent: by.traceparent } as const;
      await this.store.keepUnmatched(tx, [unmatchedFromAttempt(attempt, why)]);
    }
  }

  /**
   * The payments that must not be refunded automatically, because a person must not refund them here either, because an
   * order had them, too, before it was erased or purged, because the buyer's bank takes or took them back, or because a
   * person has paid a part back.
   */
  async unrefundable(tx: EntityManager, payments: readonly PaymentAttempt[]): Promise<readonly PaymentAttempt[]> {
    if (payments.length === 0) return [];
    const disputed = await this.disputed(tx, payments, 'automatic refund');
    const chargedBack = await this.store.contested.chargedBack(tx, payments);
    const returned = [...chargedBack, ...(await this.store.contested.excessPaidBack(tx, payments))];
    return payments.filter((one) => disputed.includes(one) || returned.some((key) => isSameRow(key, one)));
  }

  /**
   * The payments that another order also counts on. For a refund, also those that a person has settled, and those under a
   * reference that was refunded before its order was erased or purged: the number of the refund is the same, so the
   * provider would say that it is done. For an automatic refund, also those that such an order had: a person is told.
   */
  async disputed(
    tx: EntityManager,
    payments: readonly PaymentAttempt[],
    purpose: 'revival' | 'refund' | 'automatic refund',
  ): Promise<readonly PaymentAttempt[]> {
    if (payments.length === 0) return [];
    const { attempts, handled } = await this.store.samePayments(tx, payments);
    const gone = purpose === 'revival' ? [] : handled.filter(({ isUncertain }) => !isUncertain);
    const held = gone.filter(({ fate }) => fate === 'settled' || (fate === 'booked' && purpose === 'automatic refund'));
    const isGone = (payment: PaymentAttempt): boolean =>
      gone.some((one) => one.fate === 'refunded' && isSameAttempt(one, payment)) ||
      wasElsewhere(held, { ...payment, source: 'provider' });
    return payments.filter((payment) => isElsewhere(payment, attempts) || isGone(payment));
  }
}

const NOTHING_KNOWN: SamePayments = { attempts: [], unowned: [], handled: [] };

type Fate = 'taken' | 'settled' | 'disputed' | 'anyones' | 'left';

/**
 * Pure: tells the payments that this order does not take from the findings that are left to it. `settled`: those among
 * them that a person had settled before, which the order books as such. `disputed`: those of which the provider had stated
 * another amount before, as in a notification that arrived during the look-up. `anyones`: see isAnyones.
 */
export function splitTaken(
  order: LockedOrder,
  findings: readonly AttemptFinding[],
  { attempts, unowned, handled }: SamePayments,
): { left: readonly AttemptFinding[] } & Record<Exclude<Fate, 'left'>, readonly Money[]> {
  const fateOf = ({ money, wasBooked, isDisputed }: Booking): Fate => {
    if (!wasBooked && isAnyones(order, money)) return 'anyones';
    const same = { attempts: attempts.filter((other) => holds(other, money)), unowned };
    const isSettled = !wasBooked && isSettledBefore(handled, money);
    const isDone = !wasBooked && isHandled(handled, money) && !isSettled;
    if (isDone || decideClaim(order, money, same, wasBooked) === 'refused') return 'taken';
    if (isSettled) return 'settled';
    return isDisputed ? 'disputed' : 'left';
  };
  const judged = findings.map((one) => {
    const [told] = paymentsFound([one]);
    const booking = told && bookMoney(order, told);
    const fate = booking ? fateOf(booking) : 'left';
    return { one, money: fate === 'anyones' ? told : booking?.money, fate };
  });
  const moneyOf = (wanted: Fate): Money[] =>
    judged.flatMap(({ money, fate }) => (money && fate === wanted ? [money] : []));
  const left = judged.map(({ one, fate }) => {
    if (fate === 'taken') return { ...one, finding: TAKEN };
    if (fate === 'anyones') return { ...one, finding: ANYONES };
    return fate === 'settled' ? { ...one, isSettled: true } : one;
  });
  const kept = { taken: moneyOf('taken'), settled: moneyOf('settled'), disputed: moneyOf('disputed') };
  return { left, ...kept, anyones: moneyOf('anyones') };
}

function holds(other: PaymentAttempt, money: Money): boolean {
  return isSameAttempt(other, money) || (isBooked(other) && isSamePayment(other, money));
}

/** The attempt has another payment, of which the provider was not asked. */
const ANYONES: Finding = { type: 'CLOSED', evidence: { reason: 'a payment that another order may have' } };

/** It does not name the other order, which may be that of another merchant. */
const TAKEN: Finding = {
  type: 'UNKNOWN',
  reason:
    'another order has this payment, a person has settled it, or it came long before this order; see the unmatched payments',
  isKnownThere: true,
  needsPerson: true,
};

/**
 * Pure: what a look-up found after a person has settled what others have of it, so that it keeps the order from ending no
 * longer. The payment watch still looks.
 */
export function ended(found: AttemptFinding): AttemptFinding {
  const evidence = { reason: 'a person has settled that another order has this payment' };
  return found.finding === TAKEN ? { ...found, finding: { type: 'CLOSED', evidence } } : found;
}

/** Pure: whether an order holds this payment that another order counts on, too. */
export function isElsewhere(payment: PaymentAttempt, attempts: readonly PaymentAttempt[]): boolean {
  if (payment.status !== 'PAID') return false;
  return holdersElsewhere(payment, attempts).length > 0;
}

/** @param contested what orders had, too, that were erased or purged since, or what a person may have settled. */
export function disputedOf(
  order: LockedOrder,
  others: readonly PaymentAttempt[],
  contested: readonly PaymentNames[],
): PaymentAttempt[] {
  // It ends the claims of others when it pays the order. A part of the price may wait forever.
  const isClear = (one: PaymentAttempt): boolean => isPaidBy(order, one) && isOnlyClaimed(one, others);
  const isDisputed = (one: PaymentAttempt): boolean => isElsewhere(one, others) && !isClear(one);
  const isContested = (one: PaymentAttempt): boolean =>
    one.status === 'PAID' && contested.some((names) => isSamePayment(one, names));
  return order.attempts.filter((attempt) => isDisputed(attempt) || isContested(attempt));
}

/** Pure: whether a person has settled another payment under this reference, and may have paid back either of them. */
export function isBesideSettled({ attempts }: LockedOrder, found: PaymentNames): boolean {
  return attempts.some((one) => one.status === 'SETTLED' && areTwoPayments(one, found));
}

/**
 * Pure: whether this payment is certain to be that of its order, and others have only claimed it. If a person has settled
 * such a claim, that person may have paid the money back.
 */
export function isOnlyClaimed(payment: PaymentAttempt, attempts: readonly PaymentAttempt[]): boolean {
  return isCertain(payment) && holdersElsewhere(payment, attempts).every(isClaim);
}

function holdersElsewhere(payment: PaymentAttempt, attempts: readonly PaymentAttempt[]): PaymentAttempt[] {
  return attempts.filter(
    (other) => other.orderId !== payment.orderId && isBooked(other) && isSamePayment(other, payment),
  );
}

/**
 * Pure: the payments after a booking that a person had settled as mere reports, and that the provider has confirmed now,
 * perhaps for another attempt than the report had named.
 */
export function settledReports(
  before: LockedOrder | undefined,
  after: LockedOrder,
): readonly { readonly attempt: PaymentAttempt; readonly report: PaymentAttempt }[] {
  const settled = ({ attempts }: LockedOrder): PaymentAttempt[] =>
    attempts.filter(({ status }) => status === 'SETTLED');
  const known = before ? settled(before) : [];
  const reports = known.filter(({ paidSource }) => paidSource !== 'provider');
  const confirmed = settled(after).filter(({ paidSource }) => paidSource === 'provider');
  const isNews = (one: PaymentAttempt): boolean => known.every((was) => !isSameRow(was, one) || reports.includes(was));
  return confirmed.filter(isNews).flatMap((attempt) => {
    const report = reports.find((one) => isSameRow(one, attempt)) ?? reports.find((one) => isSamePayment(one, attempt));
    return report ? [{ attempt, report }] : [];
  });
}

/**
 * Pure: as what a confirmed payment is told that a person had settled as a mere report. A PAID order that has too little
 * without it needs it, so it must not be told as money in another currency, or as surplus, which invites to pay it back.
 */
export function reasonAgain(
  after: LockedOrder,
  { paidCurrency }: Pick<PaymentAttempt, 'paidCurrency'>,
  settled: UnmatchedReason,
): UnmatchedReason {
  const isOfOrder = WHOLE_PAYMENT_REASONS.some((reason) => reason === settled) && paidCurrency === after.currency;
  return isOfOrder && hasTooLittle(after) ? 'amount-mismatch' : settled;
}

/** Pure: whether a PAID order has less money than its price, or none. */
export function hasTooLittle(order: LockedOrder): boolean {
  return order.status === 'PAID' && moneyReceived(order, order.attempts).type !== 'sufficient';
}

/** Pure: whether the provider has confirmed this payment for an attempt that the order registered. */
export function isCertain(payment: PaymentAttempt): boolean {
  return payment.status === 'PAID' && !isClaim(payment);
}
