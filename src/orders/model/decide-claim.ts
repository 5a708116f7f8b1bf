import {
  type LockedOrder,
  isUndecided,
  canTakeMoney,
  hasRegistered,
  isBooked,
  isClaim,
  isApart,
  isOtherPayment,
  isSameAttempt,
  isSamePayment,
  isUnconfirmed,
  type AttemptKey,
  type PaidSource,
  type PaymentAttempt,
  type PaymentNames,
  yieldsToProvider,
  areTwoPayments,
} from './order';
import { type Booking, bookMoney, differs, type Money, moneyReceived } from './money';

/**
 * `outranks`: the order takes the payment, and other orders had only claimed it. `disputed`: the order has it, and a person
 * must find out whether that is right: other orders have it, too, or a person may have settled it under another name.
 */
export type ClaimDecision = 'taken' | 'outranks' | 'disputed' | 'refused';

/**
 * A checkout may place its order a few minutes after the buyer has paid. Older money is that of somebody else, so whoever
 * names its reference does not get it without a person.
 */
export const ADOPTION_MS = 15 * 60_000;

/**
 * Pure: decides whether an order takes a payment. A report yields to any other order: its transaction id never names an
 * attempt that another order registered, and it never takes what the provider has told of one. The provider's word about
 * an attempt that this order registered outranks what was only reported elsewhere, and so does a person's decision. Money
 * that came long before the order is not for it.
 *
 * @param known what is known under the names of this payment.
 */
export function decideClaim(
  order: LockedOrder,
  money: Money,
  known: Pick<SamePayments, 'attempts' | 'unowned'>,
  wasBooked: boolean,
): ClaimDecision {
  const isReport = money.source === 'report' && !money.isAssigned;
  const others = othersWith(order, money, known);
  const holders = others.filter((other) => isReport || isBooked(other) || isSameAttempt(other, money));
  if (!wasBooked && !money.isAssigned && unownedOf(money, known).some((one) => isTooOld(one, order))) return 'refused';
  if (isToldOfOther(order, money, known) || (!wasBooked && isAnyones(order, money))) return 'refused';
  if (holders.length === 0) return !wasBooked && isSecondOfSettled(order, money) ? 'disputed' : 'taken';
  const isOutranked = money.isAssigned
    ? holders.every((holder) => mayReassign(holder, money))
    : money.source === 'provider' && isRegistered(order, money) && holders.every((holder) => yields(holder, money));
  // The person who has settled a false report may have paid this very payment back.
  const isSettled = holders.some(({ status }) => status === 'SETTLED');
  if (isOutranked) return isSettled && !money.isAssigned ? 'disputed' : 'outranks';
  if (!wasBooked) return 'refused';
  const isTwice = holders.some((holder) => isBooked(holder) && !isOtherPayment(holder, money));
  return money.source === 'provider' && isTwice ? 'disputed' : 'taken';
}

export function othersWith(
  { id }: Pick<LockedOrder, 'id'>,
  money: Money,
  { attempts }: Pick<SamePayments, 'attempts'>,
): PaymentAttempt[] {
  return attempts.filter((other) => other.orderId !== id && isSamePayment(other, money));
}

/** Pure: whether a report names what the provider has told of an attempt of another order, which has not booked it yet. */
export function isToldOfOther(
  { id }: Pick<LockedOrder, 'id'>,
  money: Money,
  known: Pick<SamePayments, 'unowned'>,
): boolean {
  const isOthers = ({ orderIds = [] }: UnownedMoney): boolean => orderIds.some((one) => one !== id);
  return money.source === 'report' && unownedOf(money, known).some(isOthers);
}

/** Pure: whether the provider tells of a payment under a reference that the order has only another payment of. */
export function isAnyones(
  { attempts }: Pick<LockedOrder, 'attempts'>,
  { secondOf, isAssigned, ...money }: Money,
): boolean {
  const told = { ...money, reference: secondOf ?? money.reference };
  return money.source === 'provider' && isAssigned !== true && attempts.some((one) => isApart(one, told));
}

/** A settled report does not say which of several payments under its reference the person has settled. */
function isSecondOfSettled({ attempts }: LockedOrder, { isAssigned, secondOf, ...money }: Money): boolean {
  if (isAssigned || secondOf === undefined) return false;
  const first = { ...money, reference: secondOf };
  return attempts.some((one) => one.status === 'SETTLED' && isSameAttempt(one, first));
}

function isTooOld({ createdAt }: Pick<UnownedMoney, 'createdAt'>, order: LockedOrder): boolean {
  return createdAt.getTime() < order.createdAt.getTime() - ADOPTION_MS;
}

/** A second payment has a row under its own name, which the other order must not have. */
function yields(holder: PaymentAttempt, money: Money): boolean {
  return yieldsToProvider(holder) && !(money.secondOf !== undefined && isSameAttempt(holder, money));
}

/** Pure: whether a person may take the payment from this attempt of another order. */
export function mayReassign(holder: PaymentAttempt, money: Money): boolean {
  const yields = money.source === 'provider' ? yieldsToProvider(holder) : isUnconfirmed(holder);
  return yields && !isSameAttempt(holder, money);
}

/**
 * Pure: whether this attempt of another order goes with the payment that a person assigns. Its order holds no money by it,
 * and the provider has confirmed money under its reference, which can be paid once.
 */
export function isGivenUp(holder: PaymentAttempt, money: Money): boolean {
  const isEmpty = canTakeMoney(holder) || holder.status === 'CLOSED';
  return isEmpty && money.source === 'provider' && isSameAttempt(holder, money);
}

/**
 * Pure: whether only a report linked this payment to this other order, which never registered its reference. The attempt
 * goes with the payment that a person assigns, because it belongs to one order. Not if its order has another payment under
 * the reference, as of a customer who pays each order under one number: with another id, or another amount. A
 * payment that the provider has confirmed is that of the attempt with its reference, unless it is named by its id.
 */
export function isMisreported(holder: PaymentAttempt, money: Money): boolean {
  const isOnlyReported = isUnconfirmed(holder) && !hasRegistered(holder);
  const isOther = areTwoPayments(holder, money) || differs(holder, money);
  const isById = money.source === 'report' || money.reference === money.transactionId;
  return isOnlyReported && isById && isSameAttempt(holder, money) && !isOther;
}

/** Pure: the payments that pay the order, or will with others. None if the order has ended without being paid. */
export function neededPayments(order: LockedOrder): readonly PaymentAttempt[] {
  if (order.status !== 'PAID' && !isUndecided(order.status)) return [];
  const money = moneyReceived(order, order.attempts);
  const surplus = money.type === 'sufficient' ? money.surplus : [];
  return order.attempts.filter((attempt) => attempt.status === 'PAID' && !surplus.includes(attempt));
}

export function isPaidBy(order: LockedOrder, payment: PaymentAttempt): boolean {
  return moneyReceived(order, order.attempts).type === 'sufficient' && neededPayments(order).includes(payment);
}

/** Pure: whether the payment pays the order, which has registered it, so that what others claim is a mistake. */
export function isRightful({ after, holder }: Booking): boolean {
  return isPaidBy(after, holder) && !isClaim(holder);
}

function isRegistered({ attempts }: LockedOrder, money: Money): boolean {
  const under = { ...money, reference: money.secondOf ?? money.reference };
  const isIts = (attempt: PaymentAttempt): boolean =>
    isSameAttempt(attempt, under) || (isBooked(attempt) && isSamePayment(attempt, money));
  return attempts.some((attempt) => attempt.registered && isIts(attempt));
}

/** Pure: returns unowned money as a payment. @param now the payment time if none was stored. */
export function unownedMoney({ evidence, ...told }: UnownedMoney, now: Date): Money {
  const { provider, reference, merchantAccount, transactionId, amount, currency, source } = told;
  const { paidAt } = evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : now;
  const money = { provider, reference, merchantAccount, transactionId, amount, currency, source };
  return { ...money, paidAt: Number.isNaN(at.getTime()) ? now : at };
}

/** The names under which everything that is known of this payment is found. */
export function namesOfMoney(told: Money, named: Money): readonly Money[] {
  return told === named ? [told] : [told, named];
}

/** Pure: returns the unowned money that is this payment. A report may have a transaction id of its own. */
export function unownedOf(money: Money, { unowned }: Pick<SamePayments, 'unowned'>): UnownedMoney[] {
  const isOther = (one: UnownedMoney): boolean => money.source === 'provider' && areTwoPayments(one, money);
  return unowned.filter((one) => isSamePayment(one, money) && !isOther(one));
}

/**
 * Pure: the payment that a provider has confirmed before this report of it, for no order. Only if the report names it as
 * its reference: anyone may report any transaction id, and would make it that of an attempt which is registered. A report
 * never adds a second payment to an attempt.
 */
export function vouchedBy(
  order: LockedOrder,
  money: Money,
  { unowned }: Pick<SamePayments, 'unowned'>,
): Money | undefined {
  if (money.source !== 'report') return undefined;
  const told =
    toldAs(money, unowned) ?? unowned.find((one) => [one.reference, one.transactionId].includes(money.reference));
  if (!told) return undefined;
  const vouched = { ...unownedMoney(told, money.paidAt), isAssigned: money.isAssigned ?? false };
  const booking = bookMoney(order, vouched);
  // Two reports together would else do what one may not.
  const isNamed = [told.reference, told.transactionId].includes(booking.holder.reference);
  const isIts = vouched.isAssigned || (isNamed && !booking.holder.registered);
  return booking.money === vouched && isIts ? vouched : undefined;
}

/**
 * Pure: the same of a payment that a report names by both of its names, where the reference is that of another one. Whoever
 * has that one, and has not registered the reference, has no claim to this one.
 */
export function vouchedByBoth(
  order: LockedOrder,
  money: Money,
  { unowned }: Pick<SamePayments, 'unowned'>,
): Money | undefined {
  const told = toldAs(money, unowned);
  if (!told || told.reference === money.reference || told.orderIds?.some((id) => id !== order.id)) return undefined;
  return vouchedBy(order, money, { unowned: [told] });
}

/** Pure: of several payments that were told of under its reference, the one that a report names by its id, too. */
export function toldAs(money: PaymentNames, unowned: readonly UnownedMoney[]): UnownedMoney | undefined {
  const { reference, transactionId } = money;
  return unowned.find((one) => {
    const told = namesAsTold(one);
    return told.reference === reference && told.transactionId === transactionId;
  });
}

/** Money that no order has. `id` is its row in unmatched_payment. */
export interface UnownedMoney extends PaymentNames {
  readonly id: string;
  readonly amount: bigint;
  readonly currency: string;
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  /** When it was told of first. */
  readonly createdAt: Date;
  /** The orders that have an attempt of which it was told. @default none */
  readonly orderIds?: readonly string[];
}

/** Pure: its names as the provider told of it. A second payment under one reference is stored under its transaction id. */
export function namesAsTold(money: UnownedMoney): UnownedMoney {
  const { reference, transactionId, evidence } = money;
  const isSecond = reference === transactionId && typeof evidence['reference'] === 'string';
  return isSecond ? { ...money, reference: String(evidence['reference']) } : money;
}

/** Money that a provider has confirmed and no order has booked, and that waits for a person. */
export interface WaitingMoney extends PaymentNames {
  readonly orderId: string;
  /** The reference of the order's attempt under which it was paid. Null: it names the order. */
  readonly attempt: string | null;
}

/** Pure: whether it may be for this order, which then must not end. What the order had and was paid back counts as none. */
export function mayBeFor({ id, attempts }: Pick<LockedOrder, 'id' | 'attempts'>, waiting: WaitingMoney): boolean {
  const { orderId, attempt: reference } = waiting;
  const isIts = (one: PaymentAttempt, names: PaymentNames): boolean =>
    isSameAttempt(one, names) && !isApart(one, names);
  const isNamed = reference === null || attempts.some((one) => isIts(one, { ...waiting, reference }));
  const isGone = (one: PaymentAttempt): boolean =>
    isBooked(one) && one.status !== 'PAID' && isSamePayment(one, waiting) && !areTwoPayments(one, waiting);
  return orderId === id && isNamed && !attempts.some(isGone);
}

export interface SamePayments {
  readonly attempts: readonly PaymentAttempt[];
  /** The same payments as money that a provider has confirmed and no order has. */
  readonly unowned: readonly UnownedMoney[];
  /** What is left of those that a person has settled, or whose order was erased or purged. */
  readonly handled: readonly HandledPayment[];
}

/** What is known about a payment whose names are not stored anymore, or that no attempt holds. */
export interface HandledPayment extends AttemptKey {
  /** `settled`: a person has dealt with it · `booked`, `refunded`: an order had it, or had refunded it or a part, that was erased or purged. */
  readonly fate: 'settled' | 'booked' | 'refunded';
  /** Null: a person has settled it without an order. */
  readonly orderId: string | null;
  /** The same in all that is known of one payment, which may be found under several of its names. */
  readonly payment: string;
  readonly source: PaidSource;
  /** Null: not known. */
  readonly amount: bigint | null;
  readonly currency: string | null;
  /** What was refunded of it, perhaps under another of its names. Null: nothing is known. */
  readonly refunded: bigint | null;
  /** It had another transaction id under this reference, so it is another payment if a provider says so. */
  readonly isOther: boolean;
  /** Its merchant account is known on one side only, and nothing else shows that both are one. It pays no report. */
  readonly isUncertain: boolean;
}
