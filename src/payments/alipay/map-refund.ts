import { type RefundOutcome, type UnknownOutcome } from '../payment-outcome';
import { type RefundRequest } from '../refund-request';
import { type AlipayAnswer, evidenceOf, isNoTrade, mismatched, unrecognised } from './alipay-answer';
import { fromYuan } from './yuan';

/** Repeating the refund with the same number brings the same refusal, so a person must act. */
const FINAL_REFUSALS: ReadonlySet<string> = new Set([
  'ACQ.SELLER_BALANCE_NOT_ENOUGH',
  'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL',
  'ACQ.REASON_TRADE_REFUND_FEE_ERR',
  'ACQ.REFUND_FEE_ERROR',
  'ACQ.REASON_TRADE_BEEN_FREEZEN',
  'ACQ.TRADE_NOT_ALLOW_REFUND',
  'ACQ.TRADE_HAS_FINISHED',
  'ACQ.TRADE_STATUS_ERROR',
  'ACQ.DISCORDANT_REPEAT_REQUEST',
  'ACQ.TRADE_NOT_EXIST',
  'ACQ.BUYER_NOT_EXIST',
  'ACQ.BUYER_ENABLE_STATUS_FORBID',
]);

/** Maps a verified answer to alipay.trade.refund. `ASK`: only the refund query can tell. */
export function toRefundOutcome(answer: AlipayAnswer, refund: RefundRequest): RefundOutcome | { readonly type: 'ASK' } {
  const { code, fields } = answer;
  if (code === '10000') {
    // `N`: this call moved no money. Either an earlier call did, or the refund is still to come.
    return fields['fund_change'] === 'Y' ? refunded(answer, refund) : { type: 'ASK' };
  }
  // The refund may have succeeded before: after a full refund, Alipay refuses the repeated call for the trade's state.
  return code === '40004' && FINAL_REFUSALS.has(answer.subCode) ? { type: 'ASK' } : unrecognised(answer);
}

/** Maps a verified answer to alipay.trade.fastpay.refund.query, which follows `first`, the answer to the refund. */
export function toConfirmedRefund(answer: AlipayAnswer, first: AlipayAnswer, refund: RefundRequest): RefundOutcome {
  const status = answer.code === '10000' ? (answer.fields['refund_status'] ?? '') : undefined;
  if (status === 'REFUND_SUCCESS') return findMismatch(answer, refund) ?? refunded(answer, refund);
  // By Alipay's documentation, no status means no refund, and a failed refund may be repeated with the same number.
  const isNotDone = status === '' || status === 'REFUND_FAIL' || isNoTrade(answer);
  if (first.code === '10000') {
    return isNotDone || status === 'REFUND_PROCESSING'
      ? { type: 'PENDING', evidence: evidenceOf(answer) }
      : unrecognised(answer);
  }
  if (!isNotDone) return unrecognised(answer);
  const reason = `Alipay refused the refund: ${first.subCode} ${first.fields['sub_msg'] ?? ''}`.trimEnd();
  return { type: 'REJECTED', reason, evidence: evidenceOf(first) };
}

function refunded(answer: AlipayAnswer, { refundNumber }: RefundRequest): RefundOutcome {
  // Alipay assigns no refund number, so refunds are found by ours.
  return { type: 'REFUNDED', refundId: refundNumber, evidence: evidenceOf(answer) };
}

function findMismatch(answer: AlipayAnswer, { refundNumber, amount }: RefundRequest): UnknownOutcome | undefined {
  const { out_request_no: number, refund_amount: given } = answer.fields;
  if (number !== refundNumber) return mismatched(answer, 'refund');
  if (given !== undefined && fromYuan(given) !== amount) return mismatched(answer, 'amount');
  return undefined;
}
