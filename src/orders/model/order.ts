import { present } from '../../errors';

export type ClosingReason = 'expired' | 'cancelled';

/** An order as stored in its row. Money is in minor units of `currency`. */
export interface Order {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  /** Grows by one with every history row. */
  readonly version: number;
  readonly amount: bigint;
  readonly currency: string;
  /** The buyer's deadline, in whole milliseconds. */
  readonly expiresAt: Date;
  /** False: the deadline has no effect until a person decides. */
  readonly autoClose: boolean;
  /** How long after `expiresAt` the closing begins, so that a payment in the last second is booked first. */
  readonly graceMs: number;
  /** Reminders, milliseconds before `expiresAt`. */
  readonly reminderOffsetsMs: readonly number[];
  readonly closingReason: ClosingReason | null;
  readonly createdAt: Date;
  readonly closedAt: Date | null;
  readonly paidAt: Date | null;
  /** Its personal data was erased, and with it the names of its payments. @default false */
  readonly isErased?: boolean;
}

/** An order that is locked in a transaction, with its attempts as read under that lock. */
export interface LockedOrder extends Order {
  readonly attempts: readonly PaymentAttempt[];
  /** Confirmed money that may be for it and waits for a person. Read before the order ends. @default none */
  readonly waiting?: readonly Pick<PaymentAttempt, 'provider' | 'reference'>[];
}

/** The statuses of an order, as text in the database, in events, and in the API. */
export const ORDER_STATUSES = [
  'PENDING',
  'CLOSING',
  'CLOSED',
  'CANCELLED',
  'PAID',
  'REFUNDING',
  'CLOSED_REFUNDED',
] as const;

/**
 * The status of an order.
 * - `PENDING`: waits for the buyer.
 * - `CLOSING`: accepts no new payment attempt, and open ones are being closed.
 * - `CLOSED`: not paid in time, stock released.
 * - `CANCELLED`: canceled by the buyer or the shop.
 * - `PAID`: stock sold.
 * - `REFUNDING`, `CLOSED_REFUNDED`: money that arrived too late is being refunded, or is refunded.
 */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Every allowed transition. No other one is ever written. */
export const TRANSITIONS = {
  PENDING: ['CLOSING', 'CLOSED', 'CANCELLED', 'PAID'],
  CLOSING: ['CLOSED', 'CANCELLED', 'PAID'],
  // Money may arrive after closing. The late-payment policy then revives the order or refunds the money.
  CLOSED: ['PAID', 'REFUNDING'],
  // Canceled on purpose, so never revived.
  CANCELLED: ['REFUNDING'],
  REFUNDING: ['CLOSED_REFUNDED'],
  PAID: [],
  // By another attempt, after the first one was refunded. Or its refund failed after all.
  CLOSED_REFUNDED: ['REFUNDING'],
} as const satisfies Record<OrderStatus, readonly OrderStatus[]>;

export function canTransition(from: OrderStatus, to: OrderStatus): boolean {
  return (TRANSITIONS[from] as readonly OrderStatus[]).includes(to);
}

/** Whether the order is still undecided: its deadline can end it. */
export function isUndecided(status: OrderStatus): status is 'PENDING' | 'CLOSING' {
  return status === 'PENDING' || status === 'CLOSING';
}

/**
 * Who vouches for a payment. `provider`: a verified notification or a response of the provider · `report`: a caller
 * that may report payments, such as the shop.
 */
export type PaidSource = 'report' | 'provider';

/** One attempt to pay an order at one provider. Money is in minor units. */
export interface PaymentAttempt {
  readonly orderId: string;
  readonly provider: string;
  /** The merchant reference. Unique per provider and merchant account. */
  readonly reference: string;
  /** The account under which it is stored, which never changes. Null: none was known when it was registered. */
  readonly merchantAccount: string | null;
  /** The account that such an attempt turned out to belong to. Null: not known yet, or `merchantAccount` says it. */
  readonly resolvedAccount: string | null;
  readonly status: AttemptStatus;
  readonly amount: bigint;
  readonly currency: string;
  /** The time after which the provider promised to reject the buyer. */
  readonly timeExpire: Date | null;
  readonly createdAt: Date;
  /** False: it was not registered when its payment was reported, so nothing links the payment to the order. */
  readonly registered: boolean;
  /** It counts as registered because a person has given its payment to the order, which has not registered the reference. */
  readonly assigned: boolean;
  readonly paidAmount: bigint | null;
  /** What of it was too much and goes or went back, while the order keeps the rest. */
  readonly refundedAmount: bigint;
  readonly paidCurrency: string | null;
  readonly paidAt: Date | null;
  readonly transactionId: string | null;
  /** Null: not paid, or booked before this was stored. Such a payment counts as reported. */
  readonly paidSource: PaidSource | null;
}

/** The fields that identify the row of an attempt. */
export type AttemptKey = Pick<PaymentAttempt, 'provider' | 'reference' | 'merchantAccount'>;

export type AttemptName = AttemptKey & Partial<Pick<PaymentAttempt, 'resolvedAccount'>>;

/** The names of a payment: the merchant reference, and the provider's own id if it is known. */
export type PaymentNames = AttemptName & Pick<PaymentAttempt, 'transactionId'>;

/** Whether the attempt may take money. Such an attempt keeps its order from closing. */
export function canTakeMoney({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return (OPEN_STATUSES as readonly AttemptStatus[]).includes(status);
}

/** Returns the attempt with this status. Throws if the table does not allow it, which is a bug; it is never written. */
export function withStatus(attempt: PaymentAttempt, status: AttemptStatus): PaymentAttempt {
  if (attempt.status === status) return attempt;
  if (!canMoveAttempt(attempt.status, status))
    throw new Error(`attempt ${attempt.reference}: no transition from ${attempt.status} to ${status}`);
  return { ...attempt, status };
}

/** Whether a payment was booked for this attempt, whatever became of the money since. */
export function isBooked({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return (BOOKED_STATUSES as readonly AttemptStatus[]).includes(status);
}

/** The attempts whose money the order has: not those whose money goes back, or was settled. */
export function paidAttempts({ attempts }: Pick<LockedOrder, 'attempts'>): PaymentAttempt[] {
  return attempts.filter(({ status }) => status === 'PAID');
}

/** Whether the order has this money, but only a report says so. */
export function isUnconfirmed({ status, paidSource }: Pick<PaymentAttempt, 'status' | 'paidSource'>): boolean {
  return status === 'PAID' && paidSource !== 'provider';
}

/** Whether the order has registered the reference itself: no report and no person has given it the attempt. */
export function hasRegistered({ registered, assigned }: Pick<PaymentAttempt, 'registered' | 'assigned'>): boolean {
  return registered && !assigned;
}

/** Whether a person has settled a mere report. That says nothing about the provider, where it may still be paid. */
export function isSettledReport({
  status,
  registered,
  paidSource,
}: Pick<PaymentAttempt, 'status' | 'registered' | 'paidSource'>): boolean {
  return status === 'SETTLED' && registered && paidSource !== 'provider';
}

/** Whether only a report links this payment to its order. A provider's word about another's attempt outranks it. */
export function isClaim({
  status,
  registered,
  paidSource,
}: Pick<PaymentAttempt, 'status' | 'registered' | 'paidSource'>): boolean {
  return status === 'PAID' && !(registered && paidSource === 'provider');
}

/**
 * Whether the provider's word about an attempt that another order registered outranks what this order has: a claim, or a
 * report that a person has settled.
 */
export function yieldsToProvider(attempt: Pick<PaymentAttempt, 'status' | 'registered' | 'paidSource'>): boolean {
  return isClaim(attempt) || (attempt.status === 'SETTLED' && attempt.paidSource !== 'provider');
}

/** Whether both are the same row. One attempt may have two: with its account, and without. */
export function isSameRow(a: AttemptKey, b: AttemptKey): boolean {
  return a.provider === b.provider && a.reference === b.reference && a.merchantAccount === b.merchantAccount;
}

/** Whether both mean the same attempt. Equal references of two merchants are two payments. */
export function isSameAttempt(a: AttemptName, b: AttemptName): boolean {
  return a.reference === b.reference && isSameAccount(a, b);
}

/** Whether both are one payment. A provider may use two names for it, as Stripe does for a Checkout Session. */
export function isSamePayment(a: PaymentNames, b: PaymentNames): boolean {
  if (!isSameAccount(a, b)) return false;
  const names = [a.reference, a.transactionId];
  return names.includes(b.reference) || (b.transactionId !== null && names.includes(b.transactionId));
}

/**
 * Whether these are two payments under one reference, if the provider has named both: its transaction id is the same in
 * everything that it says of a payment. An id that is the reference cannot be told from the payment that has it.
 */
export function areTwoPayments(known: PaymentNames, told: PaymentNames): boolean {
  if (known.transactionId === null || told.transactionId === null || !isSameAttempt(known, told)) return false;
  return told.transactionId !== known.transactionId && told.transactionId !== known.reference;
}

/** Whether the provider has confirmed a payment for this attempt, and names another one under its reference. */
export function isOtherPayment(held: PaymentAttempt, money: PaymentNames): boolean {
  return isBooked(held) && held.paidSource === 'provider' && areTwoPayments(held, money);
}

/**
 * Whether this is somebody's own payment under the reference of an attempt. An order gets further payments only under what
 * it has registered itself: a report or a person has given it one payment, and others may pay under the same reference.
 */
export function isApart(held: PaymentAttempt, money: PaymentNames): boolean {
  const isOther = isOtherPayment(held, money) || (held.status === 'DUPLICATE' && areTwoPayments(held, money));
  return isOther && !hasRegistered(held);
}

/** What a reference becomes when its order is erased. A random part follows, so that it cannot be computed from the reference. */
export const ERASED_PREFIX = 'erased:';

/** Its provider does not know it under the name that is left. */
export function isErasedAttempt({ reference }: Pick<AttemptKey, 'reference'>): boolean {
  return reference.startsWith(ERASED_PREFIX);
}

/** What a booked attempt holds, in minor units: the amount that was taken, without the excess that was refunded. */
export function heldAmountOf({ provider, reference, paidAmount, refundedAmount }: PaymentAttempt): bigint {
  return present(paidAmount, `the amount that was paid for ${reference} at ${provider}`) - refundedAmount;
}

/** The merchant account of the attempt, as far as it is known. */
export function accountOfAttempt({ merchantAccount, resolvedAccount = null }: AttemptName): string | null {
  return resolvedAccount ?? merchantAccount;
}

/** The attempt that is meant, with this very account rather than with one that is not known yet. */
export function findAttempt<T extends AttemptName>(attempts: readonly T[], name: AttemptName): T | undefined {
  const meant = attempts.filter((attempt) => isSameAttempt(attempt, name));
  return (
    meant.find((attempt) => isSameRow(attempt, name)) ??
    meant.find((attempt) => accountOfAttempt(attempt) === accountOfAttempt(name)) ??
    meant[0]
  );
}

/**
 * The attempt that a provider means by these names: the one with the reference, if its order registered it or the provider
 * has confirmed it, unless the provider has confirmed this very transaction for another one.
 */
export function meantAttempt(all: readonly PaymentAttempt[], names: PaymentNames): PaymentAttempt | undefined {
  const attempts = all.filter((one) => !isApart(one, names));
  const known = findAttempt(attempts, names);
  const holders = attempts.filter((one) => isBooked(one) && !isOtherPayment(one, names));
  const certain = holders.find(({ paidSource }) => paidSource === 'provider');
  const isOwn = known && known.status !== 'DUPLICATE' && (known.registered || known.paidSource === 'provider');
  if (isOwn && !isOtherPayment(known, names)) return known;
  return certain ?? known ?? holders[0] ?? attempts.find(({ status }) => status === 'DUPLICATE');
}

/** An account that is not known may be any: a payment must not count twice because one of two sources knew less. */
function isSameAccount(a: AttemptName, b: AttemptName): boolean {
  if (a.provider !== b.provider) return false;
  const [one, other] = [accountOfAttempt(a), accountOfAttempt(b)];
  return one === null || other === null || one === other;
}

/** The statuses of a payment attempt, as text in the database and in the API. */
export const ATTEMPT_STATUSES = [
  'CREATED',
  'OPEN',
  'PAID',
  'CLOSED',
  'UNKNOWN',
  'REFUNDING',
  'REFUNDED',
  'DUPLICATE',
  'SETTLED',
] as const;

/**
 * The status of a payment attempt.
 * - `CREATED`: stored, but not yet handed to the provider or the buyer.
 * - `OPEN`: may be paid at any moment.
 * - `UNKNOWN`: the last look-up had no clear answer.
 * - `PAID`: the money is received.
 * - `CLOSED`: takes no more money.
 * - `REFUNDING`, `REFUNDED`: the refund is in progress, or done.
 * - `DUPLICATE`: another name of a payment that another attempt holds, according to the provider. Its transaction id, too,
 *   is the provider's.
 * - `SETTLED`: a person has dealt with the money outside of this system. It counts as none until a person reopens it.
 */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** Statuses of attempts that may take money. */
export const OPEN_STATUSES = ['CREATED', 'OPEN', 'UNKNOWN'] as const satisfies readonly AttemptStatus[];

/** Statuses of attempts whose payment was booked, whatever became of the money since. */
export const BOOKED_STATUSES = ['PAID', 'REFUNDING', 'REFUNDED', 'SETTLED'] as const satisfies readonly AttemptStatus[];

/** SQL: the same as a list. */
export const BOOKED_SQL = BOOKED_STATUSES.map((status) => `'${status}'`).join(', ');

/** @internal For tests and diagrams: the statuses that a new attempt may have. `PAID`: its payment was reported, and nobody had registered it. */
export const FIRST_ATTEMPT_STATUSES = ['CREATED', 'OPEN', 'PAID'] as const satisfies readonly AttemptStatus[];

/** Every allowed transition of an attempt. No other one is ever written. */
export const ATTEMPT_TRANSITIONS = {
  // SETTLED at once: a person had settled its payment before it was registered.
  CREATED: ['OPEN', 'UNKNOWN', 'PAID', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  OPEN: ['UNKNOWN', 'PAID', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  UNKNOWN: ['OPEN', 'PAID', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  // Back to OPEN or CLOSED, or on to DUPLICATE: a report was wrong, and the provider names another attempt.
  PAID: ['REFUNDING', 'OPEN', 'CLOSED', 'DUPLICATE', 'SETTLED'],
  // Money may arrive in spite of a close.
  CLOSED: ['PAID', 'DUPLICATE', 'SETTLED'],
  REFUNDING: ['REFUNDED'],
  // The provider returned the money after it had confirmed the refund.
  REFUNDED: ['REFUNDING'],
  // Later the provider may tell of a payment under this name alone.
  DUPLICATE: ['PAID', 'SETTLED'],
  // Back to PAID only by a person who reopens it.
  SETTLED: ['PAID'],
} as const satisfies Record<AttemptStatus, readonly AttemptStatus[]>;

export function canMoveAttempt(from: AttemptStatus, to: AttemptStatus): boolean {
  return (ATTEMPT_TRANSITIONS[from] as readonly AttemptStatus[]).includes(to);
}

/** A line of an order. `unitAmount` is in minor units. */
export interface OrderLineView {
  readonly sku: string;
  readonly quantity: number;
  readonly unitAmount: number;
}

/** The public view of an attempt. */
export interface AttemptView {
  readonly provider: string;
  readonly reference: string;
  readonly status: AttemptStatus;
  readonly amount: number;
  readonly currency: string;
  readonly merchantAccount?: string;
  readonly timeExpire?: Date;
  readonly createdAt: Date;
  readonly paidAmount?: number;
  readonly paidAt?: Date;
  readonly transactionId?: string;
}

/** The public view of an order. Amounts are integers in minor units. */
export interface OrderView {
  readonly id: string;
  readonly merchantId: string;
  readonly status: OrderStatus;
  readonly version: number;
  readonly amount: number;
  readonly currency: string;
  readonly expiresAt: Date;
  /** The deadline has passed by the database's clock, whether or not it was processed. */
  readonly expired: boolean;
  /** Whether a new payment attempt is accepted. */
  readonly payable: boolean;
  readonly autoClose: boolean;
  readonly lines: readonly OrderLineView[];
  readonly attempts: readonly AttemptView[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly paidAt?: Date;
  readonly closedAt?: Date;
}

export function toView(
  order: Order,
  lines: readonly OrderLineView[],
  attempts: readonly PaymentAttempt[],
  metadata: Readonly<Record<string, unknown>> | null,
  now: Date,
): OrderView {
  const { id, merchantId, status, version, currency, expiresAt, autoClose, createdAt, paidAt, closedAt } = order;
  return {
    id,
    merchantId,
    status,
    version,
    amount: Number(order.amount),
    currency,
    expiresAt,
    expired: hasExpired(order, now),
    payable: isPayable(order, now),
    autoClose,
    lines,
    attempts: attempts.map(toAttemptView),
    ...(metadata ? { metadata } : {}),
    createdAt,
    ...(paidAt ? { paidAt } : {}),
    ...(closedAt ? { closedAt } : {}),
  };
}

function toAttemptView(attempt: PaymentAttempt): AttemptView {
  const { provider, reference, status, currency, timeExpire, createdAt } = attempt;
  const { paidAmount, paidAt, transactionId } = attempt;
  const merchantAccount = accountOfAttempt(attempt);
  return {
    provider,
    reference,
    status,
    amount: Number(attempt.amount),
    currency,
    ...(merchantAccount === null ? {} : { merchantAccount }),
    ...(timeExpire === null ? {} : { timeExpire }),
    createdAt,
    ...(paidAmount === null ? {} : { paidAmount: Number(paidAmount) }),
    ...(paidAt === null ? {} : { paidAt }),
    ...(transactionId === null ? {} : { transactionId }),
  };
}

interface Deadline {
  readonly status: OrderStatus;
  readonly expiresAt: Date;
  readonly autoClose: boolean;
}

export function hasExpired({ expiresAt }: Pick<Deadline, 'expiresAt'>, now: Date): boolean {
  return now >= expiresAt;
}

/** With auto-close off, the order is not closed, so it stays payable after its deadline. */
export function isPayable(order: Deadline, now: Date): boolean {
  return order.status === 'PENDING' && (!order.autoClose || !hasExpired(order, now));
}

/** When the closing begins: at the buyer's deadline plus the grace. */
export function closesAt({ expiresAt, graceMs }: Pick<LockedOrder, 'expiresAt' | 'graceMs'>): Date {
  return new Date(expiresAt.getTime() + graceMs);
}
