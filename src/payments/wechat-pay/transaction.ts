import { z } from 'zod';
import { type PaidOutcome } from '../payment-outcome';

/** WeChat Pay omits the currency if only one is possible. */
const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .default('CNY');

/** A payment in answers and notifications. Data about the payer is dropped. */
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
  // z.int() accepts only safe integers, so JSON.parse has not rounded them.
  amount: z.object({ total: z.int().min(1), currency }),
});

/**
 * Maps the payment to PAID; undefined if a field is missing. The amount is `total`, which the shop receives.
 * `payer_total` is less if WeChat Pay gave a coupon.
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
