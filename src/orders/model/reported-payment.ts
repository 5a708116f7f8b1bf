import { type JsonObject } from '../../outbox';
import { type PaidOutcome } from '../../payments';
import { type MinorUnits } from './new-order';
import { accountOfAttempt, type AttemptName, type LockedOrder } from './order';

/** A payment that was reported, for example by the shop. */
export interface ReportedPayment {
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  /** The amount that was taken, in minor units. */
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly transactionId?: string | undefined;
  /** @default the database's current time */
  readonly paidAt?: Date | undefined;
  readonly merchantAccount?: string | undefined;
  /** The basis of the report, stored in the history. JSON. */
  readonly evidence?: JsonObject | undefined;
}

export function evidenceOf({ amount, paidAt, ...payment }: ReportedPayment): JsonObject {
  return { ...payment, amount: amount.toString(), ...(paidAt ? { paidAt: paidAt.toISOString() } : {}) };
}

/** Converts the amount that a provider says it took for an attempt to a report. */
export function paymentFound(
  orderId: string,
  name: AttemptName,
  { amount, currency, paidAt, transactionId, evidence }: PaidOutcome,
): ReportedPayment {
  const { provider, reference } = name;
  const merchantAccount = accountOfAttempt(name);
  const account = merchantAccount === null ? {} : { merchantAccount };
  return {
    orderId,
    provider,
    reference,
    ...account,
    amount,
    currency,
    paidAt,
    transactionId,
    evidence: { ...evidence },
  };
}

/**
 * The account that a payment of this order belongs to. A report without an account about an attempt of the order is about
 * that attempt, whatever account this process takes for the default one. Null: the attempt has no account yet.
 */
export function accountIn(
  { attempts }: Pick<LockedOrder, 'attempts'>,
  payment: { readonly provider: string; readonly reference: string; readonly merchantAccount?: string | undefined },
  resolved: string | null,
): string | null {
  if (payment.merchantAccount !== undefined) return resolved;
  const named = attempts.filter((one) => one.provider === payment.provider && one.reference === payment.reference);
  const [account, ...others] = new Set(named.map(accountOfAttempt));
  return account === undefined || others.length > 0 ? resolved : account;
}
