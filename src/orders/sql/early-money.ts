/** SQL expressions of an attempt. */
interface AttemptColumns {
  readonly provider: string;
  readonly reference: string;
  /** Empty: not known. */
  readonly account: string;
}

/**
 * SQL: the rows of unmatched money that may be for this attempt, because they came before it. The account of either may
 * not be known yet. OFFSET 0: without statistics, the planner starts from all unmatched money.
 */
export function earlyMoney(schema: string, { provider, reference, account }: AttemptColumns): string {
  return `(
    SELECT * FROM ${schema}.unmatched_payment early
     WHERE early.provider = ${provider} AND early.reference = ${reference}
       AND (${account} = '' OR early.merchant_account IN ('', ${account}))
       AND early.reason = 'unknown-order' AND early.handling = 'kept' OFFSET 0)`;
}
