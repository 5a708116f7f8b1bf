import { type PaymentEvidence, type UnknownOutcome } from '../payment-outcome';
import { type WechatPayAnswer } from './wechat-pay-answer';

/** Rate limit codes. They also come with status 403. */
const RATE_LIMITS = new Set(['RULELIMIT', 'RATELIMITEXCEEDED', 'FREQUENCYLIMITED', 'FREQUENCYLIMITEXCEED']);

/** Maps an answer that proves nothing to UNKNOWN, with the reason. */
export function inconclusive(answer: WechatPayAnswer): UnknownOutcome {
  const { status, code, retryAfterMs, verification } = answer;
  const what = code === undefined ? String(status) : `${status} ${code}`;
  const evidence = errorEvidence(answer);
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  // Errors need no signature: they mean UNKNOWN whether they are genuine or not. WeChat Pay does not sign its answer to
  // a request that it could not verify.
  if (status === 429 || RATE_LIMITS.has(code ?? '')) {
    return { type: 'UNKNOWN', reason: `WeChat Pay's rate limit was reached (${what})`, ...wait, evidence };
  }
  if (status === 401) {
    const remedy = "check mchid, serialNo, privateKey, and this machine's clock";
    return {
      type: 'UNKNOWN',
      reason: `WeChat Pay rejected the signature of the request (${what}); ${remedy}`,
      evidence,
    };
  }
  if (verification.type === 'UNVERIFIED') {
    const reason = `answer with status ${status} is not trusted: ${verification.reason}`;
    return { type: 'UNKNOWN', reason, untrusted: true, evidence };
  }
  const message = answer.message === undefined ? '' : `: ${answer.message}`;
  return { type: 'UNKNOWN', reason: `WeChat Pay's answer is not recognized: ${what}${message}`, evidence };
}

/** The part of an error that is kept in the order's history. */
export function errorEvidence({ status, code, message, requestId, verification }: WechatPayAnswer): PaymentEvidence {
  return { httpStatus: status, code, message, requestId, verified: verification.type === 'VERIFIED' };
}
