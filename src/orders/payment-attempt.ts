import { present } from '../errors';

/** How far an attempt to pay has come, as far as we know. */
export const ATTEMPT_STATUSES = ['CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN', 'REFUNDING', 'REFUNDED'] as const;

/**
 * - `CREATED`: written down, not yet given to the provider or the buyer · `OPEN`: could be paid any moment
 * - `UNKNOWN`: the provider could not be understood when last asked
 * - `PAID`: the money is ours · `CLOSED`: takes no money any more · `REFUNDING`, `REFUNDED`: the money goes, went back
 */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/** Statuses of attempts that could still bring money. */
export const OPEN_STATUSES = ['CREATED', 'OPEN', 'UNKNOWN'] as const satisfies readonly AttemptStatus[];

/** One attempt to pay an order, in the words of one provider. Money in minor units. */
export interface PaymentAttempt {
  readonly orderId: string;
  readonly provider: string;
  /** Our number at the provider; (provider, reference) is unique. */
  readonly reference: string;
  readonly merchantAccount: string | null;
  readonly status: AttemptStatus;
  readonly amount: bigint;
  readonly currency: string;
  /** After this instant the provider promised to refuse the buyer. */
  readonly timeExpire: Date | null;
  readonly createdAt: Date;
  readonly paidAmount: bigint | null;
  readonly paidCurrency: string | null;
  readonly paidAt: Date | null;
  readonly transactionId: string | null;
}

/** What identifies an attempt. */
export type AttemptKey = Pick<PaymentAttempt, 'provider' | 'reference'>;

/** Whether the attempt could still bring money, as far as we know. Such an attempt keeps its order from closing. */
export function canTakeMoney({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return (OPEN_STATUSES as readonly AttemptStatus[]).includes(status);
}

/** Whether the buyer's money has been seen for this attempt, kept or given back since. */
export function isBooked({ status }: Pick<PaymentAttempt, 'status'>): boolean {
  return status === 'PAID' || status === 'REFUNDING' || status === 'REFUNDED';
}

/** Whether money of this merchant account is not what the attempt was made for. Unknown accounts differ from none. */
export function isOfOtherMerchant(
  { merchantAccount }: Pick<PaymentAttempt, 'merchantAccount'>,
  paid: string | undefined,
): boolean {
  return merchantAccount !== null && paid !== undefined && merchantAccount !== paid;
}

/** Whether both keys mean the same attempt. */
export function isSameAttempt(a: AttemptKey, b: AttemptKey): boolean {
  return a.provider === b.provider && a.reference === b.reference;
}

/** What was taken for a booked attempt, minor units. */
export function paidAmountOf({ provider, reference, paidAmount }: PaymentAttempt): bigint {
  return present(paidAmount, `the amount that was paid for ${reference} at ${provider}`);
}
