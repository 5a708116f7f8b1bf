import { present } from '../errors';

/** How far an attempt to pay has come, as far as we know. */
export const ATTEMPT_STATUSES = [
  'CREATED',
  'OPEN',
  'PAID',
  'CLOSED',
  'UNKNOWN',
  'REFUNDING',
  'REFUNDED',
  'DUPLICATE',
] as const;

/**
 * - `CREATED`: written down, not yet given to the provider or the buyer · `OPEN`: could be paid any moment
 * - `UNKNOWN`: the provider could not be understood when last asked
 * - `PAID`: the money is ours · `CLOSED`: takes no money any more · `REFUNDING`, `REFUNDED`: the money goes, went back
 * - `DUPLICATE`: another name of a payment that another attempt of the order holds, by the provider's own word
 */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** Statuses of attempts that could still bring money. */
export const OPEN_STATUSES = ['CREATED', 'OPEN', 'UNKNOWN'] as const satisfies readonly AttemptStatus[];

/**
 * Who vouches for a payment. `provider`: a verified notification or an answer of the provider · `report`: whoever may
 * report payments, such as the shop.
 */
export type PaidSource = 'report' | 'provider';

/** One attempt to pay an order, in the words of one provider. Money in minor units. */
export interface PaymentAttempt {
  readonly orderId: string;
  readonly provider: string;
  /** Our number at the provider; unique among those of one provider and merchant account. */
  readonly reference: string;
  /** Null: the provider knows no merchants. */
  readonly merchantAccount: string | null;
  readonly status: AttemptStatus;
  readonly amount: bigint;
  readonly currency: string;
  /** After this instant the provider promised to refuse the buyer. */
  readonly timeExpire: Date | null;
  readonly createdAt: Date;
  /** False: nobody had registered it when its payment was reported, so nothing links the payment to the order. */
  readonly registered: boolean;
  readonly paidAmount: bigint | null;
  readonly paidCurrency: string | null;
  readonly paidAt: Date | null;
  readonly transactionId: string | null;
  /** Null: not paid, or booked before this was noted; such a payment counts as reported. */
  readonly paidSource: PaidSource | null;
}

/** What identifies an attempt. */
export type AttemptKey = Pick<PaymentAttempt, 'provider' | 'reference' | 'merchantAccount'>;

/** The names that a payment goes by: our number, and the provider's own where it is known. */
export type PaymentNames = AttemptKey & Pick<PaymentAttempt, 'transactionId'>;

/** Whether the attempt could still bring money, as far as we know. Such an attempt keeps its order from closing. */
export function canTakeMoney({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return (OPEN_STATUSES as readonly AttemptStatus[]).includes(status);
}

/** Whether the buyer's money has been seen for this attempt, kept or given back since. */
export function isBooked({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return status === 'PAID' || status === 'REFUNDING' || status === 'REFUNDED';
}

/** Whether the order has this money, and nobody but a report says so. */
export function isUnconfirmed({ status, paidSource }: Pick<PaymentAttempt, 'status' | 'paidSource'>): boolean {
  return status === 'PAID' && paidSource !== 'provider';
}

/** Whether both keys mean the same attempt. Equal references of two merchants are two payments. */
export function isSameAttempt(a: AttemptKey, b: AttemptKey): boolean {
  return a.reference === b.reference && isSameAccount(a, b);
}

/**
 * Whether both are one payment: a provider may tell of it by two names, as Stripe does by the ids of a Checkout Session and
 * of the intent behind it.
 */
export function isSamePayment(a: PaymentNames, b: PaymentNames): boolean {
  if (!isSameAccount(a, b)) return false;
  const names = [a.reference, a.transactionId];
  return names.includes(b.reference) || (b.transactionId !== null && names.includes(b.transactionId));
}

/** What was taken for a booked attempt, minor units. */
export function paidAmountOf({ provider, reference, paidAmount }: PaymentAttempt): bigint {
  return present(paidAmount, `the amount that was paid for ${reference} at ${provider}`);
}

function isSameAccount(a: AttemptKey, b: AttemptKey): boolean {
  return a.provider === b.provider && a.merchantAccount === b.merchantAccount;
}
