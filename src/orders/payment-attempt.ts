import { present } from '../errors';
import { type AttemptStatus, BOOKED_STATUSES, canMoveAttempt, OPEN_STATUSES } from './attempt-status';

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
  /** Null: the provider has no merchants. */
  readonly merchantAccount: string | null;
  readonly status: AttemptStatus;
  readonly amount: bigint;
  readonly currency: string;
  /** The time after which the provider promised to reject the buyer. */
  readonly timeExpire: Date | null;
  readonly createdAt: Date;
  /** False: it was not registered when its payment was reported, so nothing links the payment to the order. */
  readonly registered: boolean;
  readonly paidAmount: bigint | null;
  readonly paidCurrency: string | null;
  readonly paidAt: Date | null;
  readonly transactionId: string | null;
  /** Null: not paid, or booked before this was stored. Such a payment counts as reported. */
  readonly paidSource: PaidSource | null;
}

/** The fields that identify an attempt. */
export type AttemptKey = Pick<PaymentAttempt, 'provider' | 'reference' | 'merchantAccount'>;

/** The names of a payment: the merchant reference, and the provider's own id if it is known. */
export type PaymentNames = AttemptKey & Pick<PaymentAttempt, 'transactionId'>;

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

/** Whether the order has this money, but only a report says so. */
export function isUnconfirmed({ status, paidSource }: Pick<PaymentAttempt, 'status' | 'paidSource'>): boolean {
  return status === 'PAID' && paidSource !== 'provider';
}

/**
 * Whether only a report links this payment to its order. The provider's word about an attempt that another order
 * registered outranks such a claim.
 */
export function isClaim({
  status,
  registered,
  paidSource,
}: Pick<PaymentAttempt, 'status' | 'registered' | 'paidSource'>): boolean {
  return status === 'PAID' && !(registered && paidSource === 'provider');
}

/** Whether both keys identify the same attempt. Equal references of two merchants are two payments. */
export function isSameAttempt(a: AttemptKey, b: AttemptKey): boolean {
  return a.reference === b.reference && isSameAccount(a, b);
}

/**
 * Whether both are one payment. A provider may use two names for it, as Stripe does with the ids of a Checkout Session
 * and of its payment intent.
 */
export function isSamePayment(a: PaymentNames, b: PaymentNames): boolean {
  if (!isSameAccount(a, b)) return false;
  const names = [a.reference, a.transactionId];
  return names.includes(b.reference) || (b.transactionId !== null && names.includes(b.transactionId));
}

/** The amount that was taken for a booked attempt, in minor units. */
export function paidAmountOf({ provider, reference, paidAmount }: PaymentAttempt): bigint {
  return present(paidAmount, `the amount that was paid for ${reference} at ${provider}`);
}

function isSameAccount(a: AttemptKey, b: AttemptKey): boolean {
  return a.provider === b.provider && a.merchantAccount === b.merchantAccount;
}
