import { z } from 'zod';
import { type PaymentEvidence, type RefundOutcome } from '../payment-outcome';
import { type RefundRequest } from '../refund-request';
import { errorEvidence, inconclusive } from './inconclusive';
import { type WechatPayAnswer } from './wechat-pay-answer';

const refundSchema = z.object({
  refund_id: z.string().min(1).max(64),
  out_refund_no: z.string(),
  out_trade_no: z.string(),
  transaction_id: z.string().optional(),
  status: z.string(),
  success_time: z.string().optional(),
  channel: z.string().optional(),
  amount: z.object({ refund: z.int(), total: z.int(), currency: z.string().default('CNY') }),
});
type Refund = z.output<typeof refundSchema>;

/** Repeating the refund with the same number brings the same refusal. */
const REFUSALS = new Set([
  'NOTENOUGH',
  'INVALIDREQUEST',
  'PARAMERROR',
  'USERACCOUNTABNORMAL',
  'RESOURCENOTEXISTS',
  'ORDERNOTEXIST',
  'MCHNOTEXISTS',
]);

/** Maps the answer to a refund or to a refund query. */
export function toRefundOutcome(answer: WechatPayAnswer, request: RefundRequest): RefundOutcome {
  const refund = answer.status === 200 ? refundSchema.safeParse(answer.body).data : undefined;
  if (answer.verification.type === 'UNVERIFIED' || !refund) return inconclusive(answer);
  const mismatch = findMismatch(refund, request);
  if (!mismatch) return toState(refund);
  const reason = `answer is not trusted: it is about another refund (${mismatch})`;
  return { type: 'UNKNOWN', reason, untrusted: true, evidence: { ...refund } };
}

/** Whether WeChat Pay refuses the refund for good, unless a refund with this number exists. */
export function isRefusal({ verification, status, code = '' }: WechatPayAnswer): boolean {
  return verification.type === 'VERIFIED' && status >= 400 && REFUSALS.has(code);
}

/** Maps a refusal and the refund query that follows it, because an earlier call may have made the refund. */
export function toRefusedRefundOutcome(
  refusal: WechatPayAnswer,
  found: WechatPayAnswer,
  request: RefundRequest,
): RefundOutcome {
  const there = toRefundOutcome(found, request);
  const isMissing = found.verification.type === 'VERIFIED' && found.status === 404;
  if (there.type !== 'UNKNOWN' || !isMissing) return there;
  const reason = `WeChat Pay refuses the refund (${refusal.code ?? ''}): ${refusal.message ?? ''}`;
  return { type: 'REJECTED', reason, evidence: errorEvidence(refusal) };
}

function toState(refund: Refund): RefundOutcome {
  const evidence: PaymentEvidence = { ...refund };
  switch (refund.status) {
    case 'SUCCESS':
      return { type: 'REFUNDED', refundId: refund.refund_id, evidence };
    case 'PROCESSING':
      return { type: 'PENDING', evidence };
    case 'CLOSED':
      return { type: 'REJECTED', reason: 'WeChat Pay has closed the refund', evidence };
    case 'ABNORMAL': {
      const reason = "the buyer's account cannot receive the money (ABNORMAL); handle it on the merchant platform";
      return { type: 'REJECTED', reason, evidence };
    }
    default: {
      const reason = `WeChat Pay's answer is not recognized: refund status ${JSON.stringify(refund.status.slice(0, 32))}`;
      return { type: 'UNKNOWN', reason, evidence };
    }
  }
}

function findMismatch(refund: Refund, request: RefundRequest): string | undefined {
  if (refund.out_refund_no !== request.refundNumber) return 'out_refund_no';
  const { transactionId } = request;
  if (transactionId === undefined && refund.out_trade_no !== request.attempt.reference) return 'out_trade_no';
  if (transactionId !== undefined && refund.transaction_id !== transactionId) return 'transaction_id';
  if (BigInt(refund.amount.refund) !== request.amount) return `amount ${refund.amount.refund}`;
  return refund.amount.currency === request.currency ? undefined : `currency ${refund.amount.currency}`;
}
