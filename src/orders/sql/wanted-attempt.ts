import { type PaymentProviders } from '../../payments';
import { LIMITS } from '../limits';

/** Knows the merchant account of attempts that name none, by provider. */
export type DefaultAccounts = Pick<PaymentProviders, 'get'>;

/** SQL expressions of an attempt. */
interface AttemptColumns {
  readonly provider: string;
  readonly reference: string;
  /** Empty: not known. */
  readonly account: string;
}

/** SQL expressions for an attempt that is about to be registered. */
interface Wanted extends AttemptColumns {
  readonly orderId: string;
  /** Whether an attempt without an account may be this one. */
  readonly mayBeUnknown: string;
}

/**
 * SQL: true if another order has this attempt, perhaps without its account or under one that is not known here; otherwise
 * NULL. The primary key finds only equal accounts. LIMIT: a subquery by the key, whatever the planner estimates.
 */
export function takenByOther(schema: string, { provider, reference, orderId, account, mayBeUnknown }: Wanted): string {
  return `(
      SELECT true FROM ${schema}.payment_attempt x
       WHERE x.provider = ${provider} AND x.reference = ${reference} AND x.order_id <> ${orderId}
         AND (${account} = '' OR COALESCE(x.resolved_account, x.merchant_account) = ${account}
              OR ${mayBeUnknown} AND x.merchant_account = '' AND x.resolved_account IS NULL) LIMIT 1)`;
}

/** Whether an attempt without an account may be one with this account: if that is the default, or none is known. */
export function mayBeUnknown(
  { provider, merchantAccount }: { readonly provider: string; readonly merchantAccount: string | null },
  providers: DefaultAccounts,
): boolean {
  const byDefault = providers.get(provider)?.defaultAccount ?? null;
  return byDefault === null || byDefault === merchantAccount;
}

/**
 * SQL: the rows of unmatched money that may be for this attempt, because they came before it: the first payment under its
 * reference, and the others, whose rows have it in their evidence. The account of either may not be known yet. OFFSET 0:
 * without statistics, the planner starts from all unmatched money.
 */
export function earlyMoney(schema: string, { provider, reference, account }: AttemptColumns): string {
  const early = `
    SELECT * FROM ${schema}.unmatched_payment early
     WHERE early.provider = ${provider} AND (${account} = '' OR early.merchant_account IN ('', ${account}))
       AND early.reason = 'unknown-order' AND early.handling = 'kept'`;
  return `(${early} AND early.reference = ${reference}
    UNION ALL ${early} AND early.evidence->>'reference' = ${reference} AND early.reference <> ${reference}
       AND early.evidence->>'transactionId' = early.reference AND length(early.reference) <= ${LIMITS.reference} OFFSET 0)`;
}
