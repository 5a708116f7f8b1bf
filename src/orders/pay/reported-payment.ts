import { type JsonObject } from '../../outbox';
import { type PaidOutcome } from '../../payments';
import { type MinorUnits } from '../place/new-order';
import { accountOfAttempt, type AttemptName } from '../payment-attempt';

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

/** The report as stored in the history. JSON. */
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
