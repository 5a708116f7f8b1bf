import { draftAttempt } from './attempt-draft';
import { type LockedOrder } from '../order';
import { isUndecided } from '../order-status';
import {
  isBooked,
  isSameAttempt,
  isSamePayment,
  type PaidSource,
  type PaymentAttempt,
  type PaymentNames,
} from '../payment-attempt';

/** A payment that somebody tells of. */
export interface Money extends PaymentNames {
  /** What was taken, minor units. */
  readonly amount: bigint;
  readonly currency: string;
  readonly paidAt: Date;
  readonly source: PaidSource;
  /** An operator says that it belongs to the order, which counts as a registration. @default false */
  readonly isAssigned?: boolean;
}

/** What the attempts of an order become by a payment. */
export interface Booking {
  /** The order with its attempts as they are then. */
  readonly after: LockedOrder;
  /** Those of them that have to be written. */
  readonly changed: readonly PaymentAttempt[];
  /** The attempt that holds the payment. */
  readonly holder: PaymentAttempt;
  /** Nobody had registered it: it has no row yet. */
  readonly isNew: boolean;
  /** Whether the order had this payment already, by this name or by another. */
  readonly wasBooked: boolean;
  /** The amount differs from what was booked before, from an equally or more trusted source: a person has to find out which is true. */
  readonly isDisputed: boolean;
  /** Attempts that a report had paid with this payment: they hold nothing, and may still take money. */
  readonly released: readonly PaymentAttempt[];
}

/**
 * Pure: books a payment on a locked order. One payment is booked once, however many names it is told by. What the
 * provider says of it replaces what a report said, the attempt that holds it included.
 */
export function bookMoney(order: LockedOrder, money: Money): Booking {
  const known = order.attempts.find((attempt) => isSameAttempt(attempt, money));
  const booked = order.attempts.filter((one) => isBooked(one) && (one === known || isSamePayment(one, money)));
  const before = holderOf(booked, money, known) ?? reportedAttempt(order, money);
  const wasHolder = isBooked(before);
  const holder = wasHolder ? assignedBy(confirmedBy(before, money), money) : paidBy(before, money);
  const others = othersOf(order, holder, booked, known).map((other) => withoutPayment(order, other, money));
  const changed = [...(holder === before ? [] : [holder]), ...(money.source === 'provider' ? others : [])];
  return {
    ...put(order, changed),
    holder,
    isNew: !order.attempts.includes(before),
    wasBooked: booked.length > 0,
    isDisputed: wasHolder && differs(holder, money),
    released: changed.filter(({ status }) => status === 'OPEN' || status === 'CLOSED'),
  };
}

/**
 * The attempt that the payment belongs to. Money that is on its way back stays where it is. The provider's word on an
 * attempt that was registered outweighs a report about another one, or the caller could have foreign money given back.
 */
function holderOf(
  booked: readonly PaymentAttempt[],
  { source }: Money,
  known: PaymentAttempt | undefined,
): PaymentAttempt | undefined {
  const returning = booked.find(({ status }) => status !== 'PAID');
  if (returning) return returning;
  if (source === 'provider') {
    const certain = booked.find(({ registered, paidSource }) => registered && paidSource === 'provider');
    if (certain) return certain;
    if (known?.registered) return known;
  }
  if (known && isBooked(known)) return known;
  return booked.find(({ paidSource }) => paidSource === 'provider') ?? booked[0] ?? known;
}

/** Attempts that seem to hold the payment too, or were told of; what they are already is not written again. */
function othersOf(
  order: LockedOrder,
  holder: PaymentAttempt,
  booked: readonly PaymentAttempt[],
  known: PaymentAttempt | undefined,
): PaymentAttempt[] {
  // The provider may have told of another name of the holder just now.
  const byNewName = order.attempts.filter((one) => isBooked(one) && isSamePayment(one, holder));
  const others = new Set([...booked, ...byNewName, ...(known ? [known] : [])]);
  return [...others].filter((other) => {
    const isFinal = other.status === 'DUPLICATE' || other.status === 'REFUNDING' || other.status === 'REFUNDED';
    return !isFinal && !isSameAttempt(other, holder);
  });
}

/**
 * Another name of the payment by the provider's own word; else a report had mixed it up, and a registered attempt has to be
 * closed at its provider: at the deadline, or by the watch over an order that has ended.
 */
function withoutPayment({ status }: LockedOrder, other: PaymentAttempt, money: Money): PaymentAttempt {
  const isSaid =
    isSameAttempt(other, money) || other.reference === money.transactionId || other.paidSource === 'provider';
  const rest = isUndecided(status) ? 'OPEN' : 'CLOSED';
  return {
    ...other,
    status: isSaid || !other.registered ? 'DUPLICATE' : rest,
    paidAmount: null,
    paidCurrency: null,
    paidAt: null,
    transactionId: null,
    paidSource: null,
  };
}

function paidBy(attempt: PaymentAttempt, money: Money): PaymentAttempt {
  const { amount, currency, paidAt, transactionId, source } = money;
  return {
    ...assignedBy(attempt, money),
    status: 'PAID',
    paidAmount: amount,
    paidCurrency: currency,
    paidAt,
    transactionId,
    paidSource: source,
  };
}

function assignedBy(attempt: PaymentAttempt, { isAssigned = false }: Money): PaymentAttempt {
  return isAssigned && !attempt.registered ? { ...attempt, registered: true } : attempt;
}

/** Its status stays, as its money may be on its way back. A second name of it stays the second one. */
function confirmedBy(held: PaymentAttempt, money: Money): PaymentAttempt {
  if (money.source !== 'provider' || held.paidSource === 'provider') return held;
  const transactionId = isSameAttempt(held, money) ? money.transactionId : held.transactionId;
  return { ...paidBy(held, money), status: held.status, transactionId };
}

/** The attempt of a payment that nobody had registered. */
function reportedAttempt(order: LockedOrder, money: Money): PaymentAttempt {
  const { provider, reference, merchantAccount, amount, currency, paidAt } = money;
  const attempt = { provider, reference, amount, currency, merchantAccount: merchantAccount ?? undefined };
  return { ...draftAttempt(order, attempt, paidAt), registered: false };
}

function put(order: LockedOrder, changed: readonly PaymentAttempt[]): Pick<Booking, 'after' | 'changed'> {
  const attempts = order.attempts.map((attempt) => changed.find((one) => isSameAttempt(one, attempt)) ?? attempt);
  const added = changed.filter((one) => !order.attempts.some((attempt) => isSameAttempt(one, attempt)));
  return { after: { ...order, attempts: [...attempts, ...added] }, changed };
}

function differs({ paidAmount, paidCurrency }: PaymentAttempt, { amount, currency }: Money): boolean {
  return paidAmount !== amount || paidCurrency !== currency;
}
