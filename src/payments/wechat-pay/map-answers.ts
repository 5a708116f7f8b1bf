import { z } from 'zod';
import {
  type PaymentAttemptRef,
  type QueryOutcome,
  type UnknownOutcome,
  type CloseOutcome,
  type PaymentEvidence,
  type RefundOutcome,
  type RefundRequest,
  type PaidOutcome,
  closeOutcomeOf,
  unknown,
  untrusted,
} from '../payment-provider';
import { type WechatPayAnswer } from './wechat-pay-options';

interface WechatPayIdentity {
  readonly mchid: string;
  readonly appid?: string | undefined;
}

/** REVOKED and PAYERROR exist only for payment codes, which the shop scans. The buyer cannot pay with them again. */
const WITHOUT_MONEY = new Map<string, 'OPEN' | 'PROCESSING' | 'CLOSED'>([
  ['NOTPAY', 'OPEN'],
  ['USERPAYING', 'PROCESSING'],
  ['ACCEPT', 'PROCESSING'],
  ['CLOSED', 'CLOSED'],
  ['REVOKED', 'CLOSED'],
  ['PAYERROR', 'CLOSED'],
]);

export function toQueryOutcome(
  answer: WechatPayAnswer,
  merchant: WechatPayIdentity,
  attempt: PaymentAttemptRef,
): QueryOutcome {
  if (answer.verification.type === 'UNVERIFIED') return inconclusive(answer);
  if (answer.status === 404 && answer.code === 'ORDERNOTEXIST') {
    return { type: 'NOT_FOUND', providerNow: answer.verification.at, evidence: errorEvidence(answer) };
  }
  const transaction = answer.status === 200 ? transactionSchema.safeParse(answer.body).data : undefined;
  if (!transaction) return inconclusive(answer);
  const mismatch = findMismatch(transaction, merchant, attempt.reference);
  if (mismatch) return aboutAnother(mismatch, transaction);
  return toState(transaction, attempt);
}

/** The field that does not match. Undefined if the transaction is the requested one. */
export function findMismatch(
  transaction: Transaction,
  { mchid, appid }: WechatPayIdentity,
  reference: string,
): string | undefined {
  if (transaction.mchid !== mchid) return 'mchid';
  if (appid !== undefined && transaction.appid !== appid) return 'appid';
  return transaction.out_trade_no === reference ? undefined : 'out_trade_no';
}

function toState(transaction: Transaction, attempt: PaymentAttemptRef): QueryOutcome {
  const state = transaction.trade_state;
  const withoutMoney = WITHOUT_MONEY.get(state);
  if (withoutMoney) return { type: withoutMoney, evidence: { ...transaction } };
  if (state === 'REFUND') return refundedInPart(transaction);
  const paid = state === 'SUCCESS' ? toPaid(transaction) : undefined;
  if (!paid) {
    const reason = `WeChat Pay's answer is not recognized: trade_state ${JSON.stringify(state.slice(0, 32))}`;
    return unknown(reason, { evidence: { ...transaction } });
  }
  return paid.currency === attempt.currency ? paid : aboutAnother(`currency ${paid.currency}`, transaction);
}

/** REFUND also means a partial refund, and the answer has no refunded amount. The rest may still pay the order. */
function refundedInPart(transaction: Transaction): UnknownOutcome {
  const reason =
    'WeChat Pay says REFUND: the payment was made, and some or all of it was refunded. Check in the merchant platform ' +
    'how much is left. Then report the order as paid, or refund the rest there and close the order manually';
  return unknown(reason, { needsPerson: true, evidence: { ...transaction } });
}

function aboutAnother(what: string, transaction: Transaction): UnknownOutcome {
  return untrusted(`answer is not trusted: it is about another payment (${what})`, { ...transaction });
}

/**
 * The buyer is paying right now. FREQUENCYLIMITED may mean that too: WeChat Pay returns it not only after too many
 * calls, but also if the buyer has just entered the password.
 */
const BUYER_IS_PAYING = new Set(['USERPAYING', 'FREQUENCYLIMITED']);

/** The close was refused because of the payment's state. Only a query tells the state. */
const WRONG_STATE = new Set(['ORDERCLOSED', 'ORDERPAID', 'ORDERREVERSED', 'TRADEERROR', 'INVALIDREQUEST']);

/** Maps the answer to a close. Undefined: the state of the payment decides, so query it. */
export function toCloseOutcome(answer: WechatPayAnswer): CloseOutcome | undefined {
  const { status, code = '', verification } = answer;
  // Even a signed error does not prove the state, so an unsigned one may lead to the query too.
  if (status >= 400 && WRONG_STATE.has(code)) return undefined;
  if (verification.type === 'UNVERIFIED') return inconclusive(answer);
  if (status === 204) return { type: 'CLOSED', evidence: { httpStatus: status, requestId: answer.requestId } };
  if (BUYER_IS_PAYING.has(code)) return { type: 'IN_PROGRESS', evidence: errorEvidence(answer) };
  if (status === 404 && code === 'ORDERNOTEXIST') {
    return { type: 'NOT_FOUND', providerNow: verification.at, evidence: errorEvidence(answer) };
  }
  return inconclusive(answer);
}

/** Maps a refused close and the query that follows it. */
export function toRefusedCloseOutcome(refusal: WechatPayAnswer, state: QueryOutcome): CloseOutcome {
  const evidence = { refusal: errorEvidence(refusal), ...state.evidence };
  const why = `${refusal.code ?? refusal.status}: ${refusal.message ?? ''}`;
  return closeOutcomeOf({ ...state, evidence }, `close was refused (${why}), but the payment is still open`);
}

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

export function toRefundOutcome(answer: WechatPayAnswer, request: RefundRequest): RefundOutcome {
  const refund = answer.status === 200 ? refundSchema.safeParse(answer.body).data : undefined;
  if (answer.verification.type === 'UNVERIFIED' || !refund) return inconclusive(answer);
  const mismatch = findRefundMismatch(refund, request);
  if (!mismatch) return toRefundState(refund);
  return untrusted(`answer is not trusted: it is about another refund (${mismatch})`, { ...refund });
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

function toRefundState(refund: Refund): RefundOutcome {
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
      return unknown(reason, { evidence });
    }
  }
}

function findRefundMismatch(refund: Refund, request: RefundRequest): string | undefined {
  if (refund.out_refund_no !== request.refundNumber) return 'out_refund_no';
  const { transactionId } = request;
  if (transactionId === undefined && refund.out_trade_no !== request.attempt.reference) return 'out_trade_no';
  if (transactionId !== undefined && refund.transaction_id !== transactionId) return 'transaction_id';
  if (BigInt(refund.amount.refund) !== request.amount) return `amount ${refund.amount.refund}`;
  return refund.amount.currency === request.currency ? undefined : `currency ${refund.amount.currency}`;
}

/** Rate limit codes. They also come with status 403. */
const RATE_LIMITS = new Set(['RULELIMIT', 'RATELIMITEXCEEDED', 'FREQUENCYLIMITED', 'FREQUENCYLIMITEXCEED']);

/** Maps an answer that proves nothing to UNKNOWN, with the reason. */
function inconclusive(answer: WechatPayAnswer): UnknownOutcome {
  const { status, code, retryAfterMs, verification } = answer;
  const what = code === undefined ? String(status) : `${status} ${code}`;
  const evidence = errorEvidence(answer);
  // Errors need no signature: they mean UNKNOWN whether they are genuine or not. WeChat Pay does not sign its answer to
  // a request that it could not verify.
  if (status === 429 || RATE_LIMITS.has(code ?? '')) {
    return unknown(`WeChat Pay's rate limit was reached (${what})`, { retryAfterMs, evidence });
  }
  if (status === 401) {
    const remedy = "check mchid, serialNo, privateKey, and this machine's clock";
    return unknown(`WeChat Pay rejected the signature of the request (${what}); ${remedy}`, { evidence });
  }
  if (verification.type === 'UNVERIFIED') {
    return untrusted(`answer with status ${status} is not trusted: ${verification.reason}`, evidence);
  }
  const message = answer.message === undefined ? '' : `: ${answer.message}`;
  return unknown(`WeChat Pay's answer is not recognized: ${what}${message}`, { evidence });
}

function errorEvidence({ status, code, message, requestId, verification }: WechatPayAnswer): PaymentEvidence {
  return { httpStatus: status, code, message, requestId, verified: verification.type === 'VERIFIED' };
}

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

type Transaction = z.output<typeof transactionSchema>;

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
