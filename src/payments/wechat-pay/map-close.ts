import { type CloseOutcome, type QueryOutcome } from '../payment-outcome';
import { errorEvidence, inconclusive } from './inconclusive';
import { type WechatPayAnswer } from './wechat-pay-answer';

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
