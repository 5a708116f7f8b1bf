import { type UnmatchedHandling } from '../unmatched/unmatched-money';

/**
 * Handlings that need no more action. All others count as open, so that a new handling is never purged before it is
 * listed here. `refunding` is settled when its refund is done.
 */
export const SETTLED_HANDLINGS: readonly UnmatchedHandling[] = ['revived', 'adopted', 'completed', 'settled'];

/** SQL condition: a row of unmatched_payment needs no more action. @param row alias of the row. */
export function isSettled(schema: string, row: string): string {
  const settled = SETTLED_HANDLINGS.map((handling) => `'${handling}'`).join(', ');
  return `(${row}.handling IN (${settled}) OR ${row}.handling = 'refunding' AND (
            SELECT true FROM ${schema}.refund under_way
             WHERE under_way.provider = ${row}.provider AND under_way.reference = ${row}.reference
               AND under_way.merchant_account = ${row}.merchant_account
               AND under_way.status <> 'REFUNDED' LIMIT 1) IS NOT TRUE)`;
}
