import { randomBytes } from 'node:crypto';
import { type Reply } from '../reply';
import { type Fault } from '../simulator-input';
import { signForShop } from './sign-for-shop';
import { type WechatPayPlatformKey } from './wechat-pay-merchants';
import { type WechatPayResult } from './wechat-pay-result';

/** Signs an answer, errors too, and then spoils it where a fault says so. */
export function signedWechatPayReply(
  given: WechatPayResult,
  key: WechatPayPlatformKey,
  nowMs: number,
  fault: Fault | undefined,
): Reply {
  const { status, body } = spoil(given, fault);
  const skewMs = fault?.fault === 'skewed-clock' ? fault.seconds * 1_000 : 0;
  const signed = signForShop(key, fault?.fault === 'wrong-signature' ? `${body} ` : body, nowMs + skewMs);
  const headers = { 'Request-ID': randomBytes(12).toString('hex'), ...(fault?.fault === 'unsigned' ? {} : signed) };
  return { type: 'answer', status, body, headers };
}

/** These faults are signed correctly: a verified answer may still be none to our question, or mean nothing. */
function spoil(
  { status, body }: WechatPayResult,
  fault: Fault | undefined,
): { readonly status: number; readonly body: string } {
  switch (fault?.fault) {
    case 'garbage':
      // An answer 204 would lose its body.
      return { status: status === 204 ? 200 : status, body: '<html>Bad gateway</html>' };
    case 'wrong-reference':
      return { status, body: body ? JSON.stringify({ ...body, out_trade_no: 'another-reference' }) : '' };
    case 'unrecognised':
      return { status: status === 204 ? 200 : status, body: JSON.stringify({ ...body, ...MAYBE }) };
    default:
      return { status, body: body ? JSON.stringify(body) : '' };
  }
}

const MAYBE = { trade_state: 'MAYBE', status: 'MAYBE', code: 'MAYBE' };
