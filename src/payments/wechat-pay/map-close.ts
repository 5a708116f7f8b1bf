import { type CloseOutcome, type QueryOutcome } from '../payment-outcome';
import { errorEvidence, inconclusive } from './inconclusive';
import { type WechatPayAnswer } from './wechat-pay-answer';

/**
 * The buyer is paying right now. FREQUENCYLIMITED says so too: it comes when the password was just entered and the
 * close meets the payment, not only when there are too many calls.
 */
const BUYER_IS_PAYING = new Set(['USERPAYING', 'FREQUENCYLIMITED']);

/** The close was refused for the state of the payment; which state, a query has to say. */
const WRONG_STATE = new Set(['ORDERCLOSED', 'ORDERPAID', 'ORDERREVERSED', 'TRADEERROR', 'INVALIDREQUEST']);

/** What the answer to a close means; undefined: the state of the payment decides, so query it. */
export function toCloseOutcome(answer: WechatPayAnswer): CloseOutcome | undefined {
  const { status, code = '', verification } = answer;
  // Even an error that is signed is no proof of the state, so it need not be signed to be followed by a query.
  if (status >= 400 && WRONG_STATE.has(code)) return undefined;
  if (verification.type === 'UNVERIFIED') return inconclusive(answer);
  if (status === 204) return { type: 'CLOSED', evidence: { httpStatus: status, requestId: answer.requestId } };
  if (BUYER_IS_PAYING.has(code)) return { type: 'IN_PROGRESS', evidence: errorEvidence(answer) };
  if (status === 404 && code === 'ORDERNOTEXIST') {
    return { type: 'NOT_FOUND', providerNow: verification.at, evidence: errorEvidence(answer) };
  }
  return inconclusive(answer);
}

/** What a refused close means, by the query that followed it. */
export function toRefusedCloseOutcome(refusal: WechatPayAnswer, state: QueryOutcome): CloseOutcome {
  const evidence = { refusal: errorEvidence(refusal), ...state.evidence };
  switch (state.type) {
    case 'CLOSED':
      return { type: 'ALREADY_CLOSED', evidence };
    case 'PAID':
    case 'REFUNDED':
      return { type: 'PAID', evidence };
    case 'PROCESSING':
    case 'AUTHORIZED':
      return { type: 'IN_PROGRESS', evidence };
    case 'NOT_FOUND':
    case 'UNKNOWN':
      return { ...state, evidence };
    case 'OPEN': {
      const why = `${refusal.code ?? refusal.status}: ${refusal.message ?? ''}`;
      return { type: 'UNKNOWN', reason: `close was refused (${why}), but the payment is still open`, evidence };
    }
  }
}
