import { draftAttempt } from './attempt-draft';
import { type LockedOrder } from './order';
import {
  isBooked,
  isSameAttempt,
  isSamePayment,
  type PaidSource,
  type PaymentAttempt,
  type PaymentNames,
} from './payment-attempt';

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
}

/**
 * Pure: books a payment on a locked order. One payment is booked once, however many names it is told by. What the
 * provider says of it replaces what a report said.
 */
export function bookMoney(order: LockedOrder, money: Money): Booking {
  const known = order.attempts.find((attempt) => isSameAttempt(attempt, money));
  const held = holderOf(order, money, known);
  if (!held) {
    const holder = paidBy(known ?? reportedAttempt(order, money), money);
    return { ...put(order, [holder]), holder, isNew: !known, wasBooked: false, isDisputed: false };
  }
  const duplicates = duplicateOf(known, held, money);
  const hasWord = money.source === 'provider' && held.paidSource !== 'provider';
  const holder = assignedBy(hasWord ? confirmedBy(held, money, known) : held, money);
  const changed = [...(holder === held ? [] : [holder]), ...duplicates];
  return { ...put(order, changed), holder, isNew: false, wasBooked: true, isDisputed: differs(holder, money) };
}

/** The attempt that has this payment already: the one that is told of, or one that holds it by another name. */
function holderOf(order: LockedOrder, money: Money, known: PaymentAttempt | undefined): PaymentAttempt | undefined {
  if (known && isBooked(known)) return known;
  return order.attempts.find((attempt) => isBooked(attempt) && isSamePayment(attempt, money));
}

/** Only the provider can tell that an attempt of its own is another name: on a report's word it must stay watched. */
function duplicateOf(known: PaymentAttempt | undefined, held: PaymentAttempt, { source }: Money): PaymentAttempt[] {
  if (!known || known === held || source !== 'provider' || known.status === 'DUPLICATE') return [];
  return [{ ...known, status: 'DUPLICATE' }];
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

/** Its status stays, as its money may be on its way back. */
function confirmedBy(held: PaymentAttempt, money: Money, known: PaymentAttempt | undefined): PaymentAttempt {
  const transactionId = known === held ? money.transactionId : held.transactionId;
  const registered = held.registered || known?.registered === true;
  return { ...paidBy(held, money), status: held.status, transactionId, registered };
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
