import { type JsonObject } from '../../outbox';
import {
  type Order,
  isUnconfirmed,
  heldAmountOf,
  type PaymentAttempt,
  type LockedOrder,
  type AttemptStatus,
  isUndecided,
  accountOfAttempt,
  areTwoPayments,
  findAttempt,
  isBooked,
  isOtherPayment,
  isSameAttempt,
  isSamePayment,
  isSameRow,
  isSettledReport,
  paidAttempts,
  type PaidSource,
  type PaymentNames,
  withStatus,
} from './order';
import { type NewAttempt } from './new-order';
import { type PartReason, type UnmatchedMoney, type UnmatchedReason, unmatchedFromAttempt } from './unmatched-money';

type MoneyReceived =
  | { readonly type: 'nothing' }
  /** Some money, but less than the total, or in another currency. */
  | {
      readonly type: 'insufficient';
      readonly sentence: string;
    }
  /** Enough. `surplus`: the attempts that are not needed for it: unconfirmed ones first, then the latest. */
  | { readonly type: 'sufficient'; readonly surplus: readonly PaymentAttempt[]; readonly overpaid?: Overpaid };

interface Overpaid {
  readonly attempt: PaymentAttempt;
  readonly excess: bigint;
}

/** Pure: adds up the paid attempts of an order. Money in another currency never counts toward the total. */
export function moneyReceived(
  order: Pick<Order, 'amount' | 'currency'>,
  attempts: readonly PaymentAttempt[],
): MoneyReceived {
  const paid = attempts.filter((attempt) => attempt.status === 'PAID').sort(byTrust);
  if (paid.length === 0) return { type: 'nothing' };
  const fitting = paid.filter((attempt) => attempt.paidCurrency === order.currency);
  const sum = fitting.reduce((total, attempt) => total + heldAmountOf(attempt), 0n);
  if (sum >= order.amount) {
    const unneeded = findUnneeded(fitting, sum - order.amount);
    const isSurplus = (one: PaymentAttempt): boolean => !fitting.includes(one) || unneeded.has(one);
    const needed = paid.filter((one) => !isSurplus(one));
    return { type: 'sufficient', surplus: paid.filter(isSurplus), ...findOverpaid(order, needed) };
  }
  const foreign = paid.filter((attempt) => attempt.paidCurrency !== order.currency);
  return insufficient(order, sum, foreign);
}

/** Pure: whether what the provider has confirmed does not pay this order, so that it is PAID by what was only reported. */
export function isPaidByReports(
  order: Pick<Order, 'status' | 'amount' | 'currency'>,
  attempts: readonly PaymentAttempt[],
): boolean {
  const confirmed = attempts.filter((attempt) => !isUnconfirmed(attempt));
  return order.status === 'PAID' && moneyReceived(order, confirmed).type !== 'sufficient';
}

/** Whole payments that are not needed, the latest first, while the rest still pays the order. */
function findUnneeded(attempts: readonly PaymentAttempt[], excess: bigint): ReadonlySet<PaymentAttempt> {
  const unneeded = new Set<PaymentAttempt>();
  let left = excess;
  for (const attempt of attempts.toReversed()) {
    const amount = heldAmountOf(attempt);
    if (amount > left) continue;
    left -= amount;
    unneeded.add(attempt);
  }
  return unneeded;
}

/**
 * Each needed payment is larger than the excess, or it would be surplus. So the excess is part of the last one, or of the
 * last one without a refund of its own, because a payment has one such refund.
 */
function findOverpaid({ amount }: Pick<Order, 'amount'>, needed: readonly PaymentAttempt[]): { overpaid?: Overpaid } {
  const excess = needed.reduce((total, attempt) => total + heldAmountOf(attempt), -amount);
  const attempt = needed.findLast(({ refundedAmount }) => refundedAmount === 0n) ?? needed.at(-1);
  return attempt && excess > 0n ? { overpaid: { attempt, excess } } : {};
}

function insufficient(
  order: Pick<Order, 'amount' | 'currency'>,
  sum: bigint,
  foreign: readonly PaymentAttempt[],
): MoneyReceived {
  const others = foreign.map((attempt) => ` and ${attempt.paidAmount} ${attempt.paidCurrency}`).join('');
  return {
    type: 'insufficient',
    sentence:
      `paid ${sum} ${order.currency}${others} of ${order.amount} ${order.currency}, in minor units; ` +
      'refund it at the provider, or collect the rest and mark the order paid',
  };
}

/** Pure: why this payment does not pay its order by itself. Other payments change nothing about that. */
export function reasonOfPart({ currency }: Pick<Order, 'currency'>, { paidCurrency }: PaymentAttempt): PartReason {
  return paidCurrency === currency ? 'amount-mismatch' : 'currency-mismatch';
}

/**
 * Pure: all payments of an order that has too little money, as a person is told of them. If a PAID order has none left, those
 * that a person has settled: one of them may be all that had paid it.
 */
export function insufficientParts(
  order: LockedOrder,
  why: Pick<UnmatchedMoney, 'handling' | 'now' | 'traceparent'>,
): UnmatchedMoney[] {
  const money = moneyReceived(order, order.attempts);
  if (money.type === 'sufficient') return [];
  const isEmpty = money.type === 'nothing' && order.status === 'PAID';
  const parts = isEmpty ? order.attempts.filter(({ status }) => status === 'SETTLED') : paidAttempts(order);
  return parts.map((attempt) => unmatchedFromAttempt(attempt, { ...why, reason: reasonOfPart(order, attempt) }));
}

/** A payment that a PAID order holds, and the reasons for which a person is still told of it. */
export interface Told {
  readonly attempt: PaymentAttempt;
  readonly still: readonly UnmatchedReason[];
}

/** Pure: what a person is told of the payments that a PAID order holds. All else that was told of them is outdated. */
export function toldOfPaid(order: LockedOrder): Told[] {
  const money = moneyReceived(order, order.attempts);
  const stillTold = (attempt: PaymentAttempt): readonly UnmatchedReason[] => {
    if (money.type !== 'sufficient') return [reasonOfPart(order, attempt)];
    if (money.surplus.includes(attempt)) return ['late', 'surplus'];
    return attempt === money.overpaid?.attempt ? ['overpaid'] : [];
  };
  return paidAttempts(order).map((attempt) => ({ attempt, still: stillTold(attempt) }));
}

/**
 * Payments that only a report vouches for come last, so that they never make a confirmed payment surplus. Those of attempts
 * that were not registered come before them: nothing is refunded automatically because of them.
 */
function byTrust(a: PaymentAttempt, b: PaymentAttempt): number {
  const unconfirmed = Number(isUnconfirmed(a)) - Number(isUnconfirmed(b));
  const unregistered = Number(b.registered) - Number(a.registered);
  return (
    unconfirmed ||
    unregistered ||
    (a.paidAt?.getTime() ?? 0) - (b.paidAt?.getTime() ?? 0) ||
    (a.reference < b.reference ? -1 : 1)
  );
}

export interface Money extends PaymentNames {
  readonly amount: bigint;
  readonly currency: string;
  readonly paidAt: Date;
  readonly source: PaidSource;
  /** An operator has assigned it to the order, which counts as a registration. @default false */
  readonly isAssigned?: boolean;
  /** A person had settled it before its attempt was registered, so it counts as none. @default false */
  readonly isSettled?: boolean;
  /** The reference under which the provider took it, if that names another payment. `reference` is its transaction id then. */
  readonly secondOf?: string;
}

export interface Booking {
  /** The payment under the name by which it is booked. Its transaction id, if the reference names another payment. */
  readonly money: Money;
  readonly after: LockedOrder;
  readonly changed: readonly PaymentAttempt[];
  readonly holder: PaymentAttempt;
  /** It was not registered, so it has no row yet. */
  readonly isNew: boolean;
  /** Whether the order had this payment already, under this name or another. */
  readonly wasBooked: boolean;
  /** An equally or more trusted source has stated another amount. A person must find out which is true. */
  readonly isDisputed: boolean;
  /** Attempts that a report had marked as paid with this payment. They hold no money and may still take some. */
  readonly released: readonly PaymentAttempt[];
}

/**
 * Pure: books a payment on a locked order. A payment is booked once, whatever names it is reported under. The
 * provider's statement replaces a report, including the attempt that holds the payment. A second payment under one
 * reference gets an attempt of its own, which was not registered.
 */
export function bookMoney(order: LockedOrder, told: Money): Booking {
  const money = distinguished(order, told);
  const attempts =
    money.source === 'provider' ? order.attempts.filter((one) => !isOtherPayment(one, money)) : order.attempts;
  const known = findAttempt(attempts, money);
  const booked = bookedAs(attempts, known, money);
  // What a report says of a second payment does not show through which attempt it was made.
  const holders =
    money.secondOf !== undefined ? booked.filter((one) => one === known || one.paidSource === 'provider') : booked;
  const misnamed = misnamedReports(holders, known, money);
  const isSettled = misnamed.length > 0;
  const before = (isSettled ? known : holderOf(holders, money, known)) ?? reportedAttempt(order, money);
  const wasHolder = isBooked(before) && !isSettled;
  const paid = wasHolder
    ? assignedBy(confirmedBy(before, money), money)
    : paidBy(before, isSettled ? { ...money, isSettled } : money);
  const holder = resolvedBy(paid, money);
  const others = [
    ...othersOf(attempts, holder, booked, known, money).map((other) => withoutPayment(order, other, money)),
    ...misnamed.map((other) => ({ ...other, transactionId: null })),
  ];
  const changed = [...(holder === before ? [] : [holder]), ...(money.source === 'provider' ? others : [])];
  return {
    ...put(order, changed),
    money,
    holder,
    isNew: !order.attempts.includes(before),
    wasBooked: booked.length > 0,
    isDisputed: wasHolder && (differs(holder, money) || isOtherReport(before, money)),
    released: changed.filter(({ status }) => status === 'OPEN' || status === 'CLOSED'),
  };
}

/** The attempts that hold this payment. A report under what the provider has called another name of one is about that one. */
function bookedAs(
  attempts: readonly PaymentAttempt[],
  known: PaymentAttempt | undefined,
  money: Money,
): PaymentAttempt[] {
  const holding = attempts.filter((one) => isBooked(one) && (one === known || isSamePayment(one, money)));
  if (holding.length > 0 || money.source === 'provider' || known?.status !== 'DUPLICATE') return holding;
  return attempts.filter((one) => isBooked(one) && isSamePayment(one, known));
}

/**
 * Names a payment by its transaction id if its reference names another one that the provider has confirmed. Only the
 * provider tells of a second payment: a report may have an id of its own for the first.
 */
function distinguished({ attempts }: LockedOrder, money: Money): Money {
  const { transactionId } = money;
  const held = findAttempt(attempts, money);
  if (!held || transactionId === null || !isOtherPayment(held, money)) return money;
  const own = { ...money, reference: transactionId, secondOf: money.reference };
  const isKnown = (one: PaymentAttempt): boolean =>
    isBooked(one) && one.paidSource === 'provider' && isSamePayment(one, own);
  return money.source === 'provider' || attempts.some(isKnown) ? own : money;
}

/**
 * The settled reports that name the wrong attempt, according to the provider. The person who settled one may have paid back
 * what either attempt holds, so both count as settled.
 */
function misnamedReports(
  holders: readonly PaymentAttempt[],
  known: PaymentAttempt | undefined,
  money: Money,
): PaymentAttempt[] {
  const isFree = known?.registered && (!isBooked(known) || isUnconfirmed(known));
  if (!isFree || money.source !== 'provider') return [];
  const isItsName = (one: PaymentAttempt): boolean =>
    isSameAttempt(one, money) || one.reference === money.transactionId;
  // An id that is the reference of the attempt would hide each further payment under it.
  const isConfused = (one: PaymentAttempt): boolean => isSettledReport(one) || one.transactionId === money.reference;
  return holders.filter(
    (one) => one.status === 'SETTLED' && one.paidSource !== 'provider' && isConfused(one) && !isItsName(one),
  );
}

/**
 * The attempt that the payment belongs to. A payment that is being refunded, or was settled, stays where it is. The provider's statement
 * about a registered attempt outweighs a report about another one; otherwise the caller could have another customer's
 * money refunded.
 */
function holderOf(
  booked: readonly PaymentAttempt[],
  { source }: Money,
  known: PaymentAttempt | undefined,
): PaymentAttempt | undefined {
  const certain = booked.find(({ registered, paidSource }) => registered && paidSource === 'provider');
  // A settled report was a mistake if the provider says so of what it has confirmed.
  const isMistaken = (one: PaymentAttempt): boolean =>
    source === 'provider' && certain !== undefined && one.status === 'SETTLED' && one.paidSource !== 'provider';
  const returning = booked.find((one) => one.status !== 'PAID' && !isMistaken(one));
  if (returning) return returning;
  if (source === 'provider') {
    if (certain) return certain;
    if (known?.registered) return known;
  }
  if (known && isBooked(known)) return known;
  return booked.find(({ paidSource }) => paidSource === 'provider') ?? booked[0] ?? known;
}

/** Other attempts that seem to hold the payment or were named in the report. Those that need no change are left out. */
function othersOf(
  attempts: readonly PaymentAttempt[],
  holder: PaymentAttempt,
  booked: readonly PaymentAttempt[],
  known: PaymentAttempt | undefined,
  money: Money,
): PaymentAttempt[] {
  // The provider may just have named the holder's other name. Two rows of one reference may hold two payments.
  const byNewName = attempts.filter(
    (one) => isBooked(one) && isSamePayment(one, holder) && !isOtherPayment(one, holder),
  );
  // Registered twice: with its account, and before that was known.
  const again = attempts.filter((one) => known && isSameAttempt(one, known) && isSameAttempt(one, money));
  const others = new Set([...booked, ...byNewName, ...again]);
  return [...others].filter((other) => {
    const isFinal = other.status === 'DUPLICATE' || (isBooked(other) && other.status !== 'PAID');
    return !isFinal && !isSameRow(other, holder);
  });
}

/**
 * Another name of the payment according to the provider. Otherwise a report had confused the attempts, and a registered
 * attempt must be closed at its provider: at the deadline, or by the payment watch of an ended order.
 */
function withoutPayment({ status }: LockedOrder, other: PaymentAttempt, money: Money): PaymentAttempt {
  if (isSameAttempt(other, money)) return { ...emptied(other, 'DUPLICATE'), transactionId: money.transactionId };
  const isSaid = other.reference === money.transactionId || other.paidSource === 'provider';
  return isSaid ? emptied(other, 'DUPLICATE') : released(status, other);
}

/** Pure: returns an attempt of an order of this status without the payment that only a report had linked to it. */
export function released(status: LockedOrder['status'], attempt: PaymentAttempt): PaymentAttempt {
  const rest = isUndecided(status) ? 'OPEN' : 'CLOSED';
  return emptied(attempt, attempt.registered ? rest : 'DUPLICATE');
}

function emptied(attempt: PaymentAttempt, status: AttemptStatus): PaymentAttempt {
  // What the provider says of the payment may name it by this id alone.
  const isName = status === 'DUPLICATE' && attempt.paidSource === 'provider';
  const transactionId = isName ? attempt.transactionId : null;
  const nothing = { paidAmount: null, paidCurrency: null, paidAt: null, paidSource: null };
  return { ...withStatus(attempt, status), ...nothing, transactionId };
}

function paidBy(attempt: PaymentAttempt, money: Money): PaymentAttempt {
  const status = money.isSettled ? 'SETTLED' : 'PAID';
  return { ...withStatus(assignedBy(attempt, money), status), ...paidFieldsOf(money) };
}

/** The payment shows whose the attempt is. The row keeps its key, and with it the number of its refund. */
function resolvedBy(holder: PaymentAttempt, money: Money): PaymentAttempt {
  const account = accountOfAttempt(money);
  if (account === null || accountOfAttempt(holder) !== null || money.source !== 'provider') return holder;
  return { ...holder, resolvedAccount: account };
}

type PaidFields = Pick<PaymentAttempt, 'paidAmount' | 'paidCurrency' | 'paidAt' | 'transactionId' | 'paidSource'>;

function paidFieldsOf({ amount, currency, paidAt, transactionId, source }: Money): PaidFields {
  return { paidAmount: amount, paidCurrency: currency, paidAt, transactionId, paidSource: source };
}

function assignedBy(attempt: PaymentAttempt, { isAssigned = false }: Money): PaymentAttempt {
  return isAssigned && !attempt.registered ? { ...attempt, registered: true, assigned: true } : attempt;
}

/** Keeps its status, because its money may be in a refund or settled. A second name stays the second name. */
function confirmedBy(held: PaymentAttempt, money: Money): PaymentAttempt {
  if (money.source !== 'provider') return held;
  if (held.paidSource === 'provider') {
    const isUnnamed = held.transactionId === null && money.transactionId !== null && isSameAttempt(held, money);
    return isUnnamed ? { ...held, transactionId: money.transactionId } : held;
  }
  const transactionId = isSameAttempt(held, money) ? money.transactionId : held.transactionId;
  return { ...held, ...paidFieldsOf(money), transactionId };
}

function reportedAttempt(order: LockedOrder, money: Money): PaymentAttempt {
  const { provider, reference, amount, currency, paidAt } = money;
  const attempt = { provider, reference, amount, currency, merchantAccount: accountOfAttempt(money) ?? undefined };
  return { ...draftAttempt(order, attempt, paidAt), registered: false };
}

function put(order: LockedOrder, changed: readonly PaymentAttempt[]): Pick<Booking, 'after' | 'changed'> {
  const attempts = order.attempts.map((attempt) => changed.find((one) => isSameRow(one, attempt)) ?? attempt);
  const added = changed.filter((one) => !order.attempts.some((attempt) => isSameRow(one, attempt)));
  return { after: { ...order, attempts: [...attempts, ...added] }, changed };
}

/** Whether two reports state two ids under one reference. No provider has said which, and both may be paid. */
function isOtherReport(before: PaymentAttempt, money: Money): boolean {
  return [before.paidSource, money.source].every((source) => source === 'report') && areTwoPayments(before, money);
}

/** Whether the attempt holds another amount, or another currency. */
export function differs({ paidAmount, paidCurrency }: PaymentAttempt, { amount, currency }: Money): boolean {
  return paidAmount !== amount || paidCurrency !== currency;
}

/** Pure: returns the attempt to be written. Missing values are taken from its order. */
export function draftAttempt(
  order: Pick<Order, 'id' | 'amount' | 'currency'>,
  attempt: NewAttempt,
  createdAt: Date,
): PaymentAttempt {
  return {
    orderId: order.id,
    provider: attempt.provider,
    reference: attempt.reference,
    merchantAccount: attempt.merchantAccount ?? null,
    resolvedAccount: null,
    // The caller may have handed the attempt to the buyer already, so it counts as payable from now on.
    status: attempt.handedOver === false ? 'CREATED' : 'OPEN',
    amount: attempt.amount === undefined ? order.amount : BigInt(attempt.amount),
    currency: attempt.currency ?? order.currency,
    timeExpire: attempt.timeExpire ?? null,
    createdAt,
    registered: true,
    assigned: false,
    paidAmount: null,
    refundedAmount: 0n,
    paidCurrency: null,
    paidAt: null,
    transactionId: null,
    paidSource: null,
  };
}

/** The new state of an attempt of a locked order. `evidence` null: the stored evidence stays. */
export interface AttemptWrite {
  readonly attempt: PaymentAttempt;
  readonly isNew?: boolean;
  readonly evidence: JsonObject | null;
}
