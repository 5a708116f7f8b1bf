import { z } from 'zod';
import { type PaidOutcome } from '../payment-outcome';

/** WeChat Pay leaves the currency out where there can be only one. */
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .default('CNY');

/** A payment as queries and notifications show it; of the payer nothing is kept. */
export const transactionSchema = z.object({
  appid: z.string().optional(),
  mchid: z.string(),
  out_trade_no: z.string(),
  trade_state: z.string(),
  trade_state_desc: z.string().optional(),
  trade_type: z.string().optional(),
  transaction_id: z.string().optional(),
  success_time: z.string().optional(),
  amount: z
    .object({
      total: z.number().optional(),
      payer_total: z.number().optional(),
      currency: z.string().optional(),
      payer_currency: z.string().optional(),
    })
    .optional(),
});
export type Transaction = z.output<typeof transactionSchema>;

const paidSchema = z.object({
  transaction_id: z.string().min(1).max(64),
  success_time: z.iso.datetime({ offset: true }),
  // z.int() takes safe integers only, so none that JSON.parse has rounded.
  amount: z.object({ total: z.int().min(1), currency }),
});

/**
 * The payment as PAID; undefined if something of it is missing. The amount is `total`, which the shop gets, and not
 * `payer_total`, which is less where WeChat Pay gave a coupon.
 */
export function toPaid(transaction: Transaction): PaidOutcome | undefined {
  const paid = paidSchema.safeParse(transaction).data;
  return (
    paid && {
      type: 'PAID',
      amount: BigInt(paid.amount.total),
      currency: paid.amount.currency,
      paidAt: new Date(paid.success_time),
      transactionId: paid.transaction_id,
      evidence: { ...transaction },
    }
  );
}
