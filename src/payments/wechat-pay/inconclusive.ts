import { type PaymentEvidence, type UnknownOutcome } from '../payment-outcome';
import { type WechatPayAnswer } from './wechat-pay-answer';

/** Codes of too many calls, which also come with status 403. */
const RATE_LIMITS = new Set(['RULELIMIT', 'RATELIMITEXCEEDED', 'FREQUENCYLIMITED', 'FREQUENCYLIMITEXCEED']);

/** What an answer means that proves nothing: UNKNOWN, and why. */
export function inconclusive(answer: WechatPayAnswer): UnknownOutcome {
  const { status, code, retryAfterMs, verification } = answer;
  const what = code === undefined ? String(status) : `${status} ${code}`;
  const evidence = errorEvidence(answer);
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  // These need no signature: UNKNOWN is what they mean either way. WeChat Pay signs no answer to a request that it
  // could not verify.
  if (status === 429 || RATE_LIMITS.has(code ?? '')) {
    return { type: 'UNKNOWN', reason: `WeChat Pay limits our rate (${what})`, ...wait, evidence };
  }
  if (status === 401) {
    const remedy = 'check mchid, serialNo, privateKey and the clock of this machine';
    return { type: 'UNKNOWN', reason: `WeChat Pay did not accept our signature (${what}); ${remedy}`, evidence };
  }
  if (verification.type === 'UNVERIFIED') {
    const reason = `answer with status ${status} is not trusted: ${verification.reason}`;
    return { type: 'UNKNOWN', reason, untrusted: true, evidence };
  }
  const message = answer.message === undefined ? '' : `: ${answer.message}`;
  return { type: 'UNKNOWN', reason: `answer of WeChat Pay is not recognised: ${what}${message}`, evidence };
}

/** What an error says, for the history. */
export function errorEvidence({ status, code, message, requestId, verification }: WechatPayAnswer): PaymentEvidence {
  return { httpStatus: status, code, message, requestId, verified: verification.type === 'VERIFIED' };
}
