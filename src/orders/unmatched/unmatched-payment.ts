import { type JsonObject } from '../../outbox';
import { type UnmatchedHandling, type UnmatchedReason } from './unmatched-money';
import { type PaidSource, type PaymentNames } from '../payment-attempt';
import { type ReportedPayment } from '../pay/reported-payment';

/** Money that no order takes: a row of unmatched_payment. Amounts are in minor units. */
export interface UnmatchedPayment {
  readonly id: string;
  readonly reason: UnmatchedReason;
  readonly handling: UnmatchedHandling;
  /** The order that the payment names or belongs to. Null: it is unknown. */
  readonly orderId: string | null;
  readonly provider: string;
  readonly reference: string;
  /** Null: the provider has no merchants. */
  readonly merchantAccount: string | null;
  readonly amount: number;
  readonly currency: string;
  /** Who says that it was paid. */
  readonly source: PaidSource;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  /** When, by whom, and why it was settled or assigned. Null: an operator has not handled it. */
  readonly resolvedAt: Date | null;
  readonly resolvedBy: string | null;
  readonly resolution: string | null;
}

/** Whether it waits for a person, or for the deadline of its order. */
export function isOpen({ handling }: Pick<UnmatchedPayment, 'handling'>): boolean {
  return handling === 'kept' || handling === 'waiting';
}

/** Pure: returns the names of the payment. */
export function namesOf({ provider, reference, merchantAccount, evidence }: UnmatchedPayment): PaymentNames {
  const { transactionId } = evidence;
  const known = typeof transactionId === 'string' ? transactionId : null;
  return { provider, reference, merchantAccount, transactionId: known };
}

/** Pure: returns the same payment as a report for this order. */
export function reportOf(unmatched: UnmatchedPayment, orderId: string): ReportedPayment {
  const { provider, reference, merchantAccount, amount, currency, evidence } = unmatched;
  const { transactionId } = namesOf(unmatched);
  const { paidAt } = evidence;
  const at = typeof paidAt === 'string' ? new Date(paidAt) : undefined;
  return {
    ...{ orderId, provider, reference, amount, currency },
    ...(merchantAccount === null ? {} : { merchantAccount }),
    ...(transactionId === null ? {} : { transactionId }),
    ...(at && !Number.isNaN(at.getTime()) ? { paidAt: at } : {}),
    evidence: { ...evidence, unmatchedPayment: unmatched.id },
  };
}

/** Pure: returns the entry for the history of an order. */
export function evidenceOfUnmatched({
  id,
  provider,
  reference,
  amount,
  currency,
  reason,
}: UnmatchedPayment): JsonObject {
  return { unmatchedPayment: { id, provider, reference, amount, currency, reason } };
}
