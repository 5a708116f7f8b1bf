import { type JsonObject } from '../../outbox';
import { type PaidOutcome } from '../../payments';
import { type MinorUnits } from '../place/new-order';
import { type AttemptKey } from '../payment-attempt';

/** A payment that somebody reports, such as the shop. */
export interface ReportedPayment {
  readonly orderId: string;
  readonly provider: string;
  readonly reference: string;
  /** What was taken, minor units. */
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly transactionId?: string | undefined;
  /** @default the database's now */
  readonly paidAt?: Date | undefined;
  readonly merchantAccount?: string | undefined;
  /** What the report is based on; kept in the history. JSON. */
  readonly evidence?: JsonObject | undefined;
}

/** The report as it is kept in the history. JSON. */
export function evidenceOf({ amount, paidAt, ...payment }: ReportedPayment): JsonObject {
  return { ...payment, amount: amount.toString(), ...(paidAt ? { paidAt: paidAt.toISOString() } : {}) };
}

/** What a provider says that it took for an attempt, as a report. */
export function paymentFound(
  orderId: string,
  { provider, reference, merchantAccount }: AttemptKey,
  { amount, currency, paidAt, transactionId, evidence }: PaidOutcome,
): ReportedPayment {
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
