/** How far an attempt to pay has come, as far as we know. */
export const ATTEMPT_STATUSES = ['CREATED', 'OPEN', 'PAID', 'CLOSED', 'UNKNOWN'] as const;

/**
 * - `CREATED`: written down, not yet given to the provider or the buyer · `OPEN`: could be paid any moment
 * - `UNKNOWN`: the provider could not be understood when last asked · `PAID`, `CLOSED`: final
 */
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

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
  return status !== 'PAID' && status !== 'CLOSED';
}

/** Whether both keys mean the same attempt. */
export function isSameAttempt(a: AttemptKey, b: AttemptKey): boolean {
  return a.provider === b.provider && a.reference === b.reference;
}
